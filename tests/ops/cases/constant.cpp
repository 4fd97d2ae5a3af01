#include "engine/ops/constant.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases constant_cases() {
  OpCases all;
  all.cases = {{"constant", {}, ConstantAttributes{1, scalar}}, {"constant", {}, ConstantAttributes{2.5, large::x}}};
  all.small_cases = {{"constant", {}, ConstantAttributes{1.5, small::x}}};
  return all;
}

}  // namespace shardscope::test
