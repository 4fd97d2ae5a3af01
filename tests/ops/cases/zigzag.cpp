#include "engine/ops/zigzag.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases zigzag_cases() {
  OpCases all;
  all.cases = {{"zigzag", {tokens({12, 12})}, ZigzagAttributes{6, 1, false}},
               {"zigzag", {large::x}, ZigzagAttributes{6, 0, true}, {0}}};
  all.small_cases = {{"zigzag", {small::ids}, ZigzagAttributes{2, 1, false}},
                     {"zigzag", {small::x}, ZigzagAttributes{2, 1, true}}};
  return all;
}

}  // namespace shardscope::test
