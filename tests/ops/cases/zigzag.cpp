#include "engine/ops/zigzag.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> zigzag_variants() {
  const ZigzagAttributes made{2, 1, false};
  [[maybe_unused]] const auto& [blocks, dimension, back] = made;
  return {made, ZigzagAttributes{4, 1, false}, ZigzagAttributes{2, 0, false}, ZigzagAttributes{2, 1, true}};
}

}  // namespace

OpCases zigzag_cases() {
  OpCases all;
  all.cases = {{"zigzag", {tokens({12, 12})}, ZigzagAttributes{6, 1, false}},
               {"zigzag", {large::x}, ZigzagAttributes{6, 0, true}, {0}}};
  all.small_cases = {{"zigzag", {small::ids}, ZigzagAttributes{2, 1, false}},
                     {"zigzag", {small::x}, ZigzagAttributes{2, 1, true}}};
  all.attributes = {zigzag_variants()};
  return all;
}

}  // namespace shardscope::test
