#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases multiply_cases() {
  OpCases all;
  all.cases = {{"multiply", {large::x, large::x}, {}, {0, 1}}};
  all.small_cases = {{"multiply", {small::x, small::x}}};
  return all;
}

}  // namespace shardscope::test
