#include "engine/ops/scale.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases squared_error_cases() {
  const ScaleAttributes half{0.5}, mean{1.0 / 32};
  OpCases all;
  all.cases = {{"squared_error", {large::x, large::x}, half, {0}},
               {"squared_error_grad", {large::x, large::x, scalar}, half}};
  all.small_cases = {{"squared_error", {small::x, small::x}, mean},
                     {"squared_error_grad", {small::x, small::x, scalar}, mean}};
  all.networks = {{"squared error", 0, no_layer, squared_error}};
  return all;
}

}  // namespace shardscope::test
