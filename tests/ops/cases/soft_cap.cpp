#include "engine/ops/soft_cap.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases soft_cap_cases() {
  OpCases all;
  all.cases = {{"soft_cap", {large::x}, SoftCapAttributes{0.5}, {0}},
               {"soft_cap_grad", {large::x, large::x}, SoftCapAttributes{3}}};
  all.small_cases = {{"soft_cap", {small::x}, SoftCapAttributes{0.4}},
                     {"soft_cap_grad", {small::x, small::x}, SoftCapAttributes{2}}};
  all.networks = {{"soft_cap", 0, behind_dense("soft_cap", SoftCapAttributes{0.8})}};
  return all;
}

}  // namespace shardscope::test
