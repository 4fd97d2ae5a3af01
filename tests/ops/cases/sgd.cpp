#include "engine/ops/sgd.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases sgd_cases() {
  OpCases all;
  all.cases = {{"sgd", {large::x, large::x, large::x}, SgdAttributes{}}};
  all.small_cases = {{"sgd", {array({8, 16}), array({8, 16}), array({8, 16})}, SgdAttributes{}}};
  return all;
}

}  // namespace shardscope::test
