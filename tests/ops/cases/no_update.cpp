#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases no_update_cases() {
  OpCases all;
  all.cases = {{"no_update", {large::x, large::x}}};
  all.small_cases = {{"no_update", {array({8, 16}), array({8, 16})}}};
  return all;
}

}  // namespace shardscope::test
