#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases weighted_sum_cases() {
  OpCases all;
  all.cases = {{"weighted_sum", {large::query, array({12, 6, 12})}, {}, {0, 1}},
               {"weighted_sum_grad", {large::query, array({12, 6, 12}), large::x}}};
  all.small_cases = {{"weighted_sum", {small::query, array({4, 8, 4})}},
                     {"weighted_sum_grad", {small::query, array({4, 8, 4}), array({4, 8, 12})}}};
  return all;
}

}  // namespace shardscope::test
