#include "engine/ops/clip.h"
#include "tests/ops/attribute_values.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> clip_bounds_variants() {
  const ClipBoundsAttributes made{-1, 1};
  [[maybe_unused]] const auto& [low, high] = made;
  return {made, ClipBoundsAttributes{next(-1), 1}, ClipBoundsAttributes{-1, next(1)}};
}

}  // namespace

OpCases clip_cases() {
  OpCases all;
  all.cases = {{"clip", {large::x}, ClipBoundsAttributes{-0.5, 0.7}, {0}},
               {"clip_grad", {large::x, large::x}, ClipBoundsAttributes{-0.5, 0.7}}};
  all.small_cases = {{"clip", {small::x}, ClipBoundsAttributes{-0.5, 0.7}},
                     {"clip_grad", {small::x, small::x}, ClipBoundsAttributes{-0.5, 0.7}}};
  all.networks = {{"clip", 0, behind_dense("clip", ClipBoundsAttributes{-0.4, 0.3})}};
  all.attributes = {clip_bounds_variants()};
  return all;
}

}  // namespace shardscope::test
