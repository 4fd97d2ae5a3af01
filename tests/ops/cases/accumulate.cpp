#include "engine/ops/scale.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases accumulate_cases() {
  OpCases all;
  all.cases = {{"accumulate", {large::x}, ScaleAttributes{0.25}}, {"accumulate", {scalar}, ScaleAttributes{0.25}}};
  all.small_cases = {{"accumulate", {small::x}, ScaleAttributes{0.25}}};
  return all;
}

}  // namespace shardscope::test
