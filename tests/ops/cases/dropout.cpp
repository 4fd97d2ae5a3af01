#include "engine/ops/dropout.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases dropout_cases() {
  OpCases all;
  all.cases = {{"dropout", {large::x}, DropoutAttributes{0.5, {{0, 1}, 1, 0, 7}}, {0}}};
  all.small_cases = {{"dropout", {small::x}, DropoutAttributes{0.3, {key_from_seed(7), 1, 0, 12345}}}};
  all.networks = {{"dropout", 0.4, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.dropout(x, 0); }}};
  return all;
}

}  // namespace shardscope::test
