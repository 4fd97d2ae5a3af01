#include "engine/ops/lion.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases lion_cases() {
  OpCases all;
  all.cases = {{"lion", {large::x, large::x, large::x}, LionAttributes{}}};
  all.small_cases = {{"lion", {array({8, 16}), array({8, 16}), array({8, 16})}, LionAttributes{0.1, 0.9, 0.99, 0.2}}};
  return all;
}

}  // namespace shardscope::test
