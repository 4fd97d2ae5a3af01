#include "engine/ops/global_norm.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> clip_variants() {
  const ClipAttributes a{};
  [[maybe_unused]] const auto& [norm] = a;
  return {a, ClipAttributes{next(norm)}};
}

}  // namespace

OpCases global_norm_cases() {
  OpCases all;
  all.cases = {{"sum_of_squares", {large::x}},
               {"global_norm", {scalar, scalar}},
               {"clip_by_global_norm", {large::x, scalar}, ClipAttributes{2}}};
  all.small_cases = {{"sum_of_squares", {small::x}},
                     {"sum_of_squares", {small::features}},
                     {"global_norm", {scalar, scalar, scalar}},
                     {"clip_by_global_norm", {small::x, scalar}, ClipAttributes{2}},
                     {"clip_by_global_norm", {small::x, scalar}, ClipAttributes{5}}};
  all.ranges = {{"global_norm", 0, 8, 16},
                {"global_norm", 1, 8, 16},
                {"global_norm", 2, 8, 16},
                {"clip_by_global_norm", 1, 3, 4}};
  all.attributes = {clip_variants()};
  return all;
}

}  // namespace shardscope::test
