#include "engine/ops/adam.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases adam_cases() {
  OpCases all;
  all.cases = {{"adam", {large::x, large::x, large::x, large::x}, AdamAttributes{}}};
  all.small_cases = {{"adam", {array({8, 16}), array({8, 16}), array({8, 16}), array({8, 16})}, AdamAttributes{}},
                     {"adam",
                      {small::features, small::features, small::features, small::features},
                      AdamAttributes{0.1, 0.9, 0.999, 1e-8, 0.2}}};
  all.ranges = {{"adam", 3, 8, 16}};
  return all;
}

}  // namespace shardscope::test
