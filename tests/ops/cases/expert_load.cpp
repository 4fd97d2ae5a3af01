#include "engine/ops/expert_load.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases expert_load_cases() {
  OpCases all;
  all.cases = {{"expert_load", {large::choices}, ExpertLoadAttributes{12}}};
  all.small_cases = {{"expert_load", {small::choices}, ExpertLoadAttributes{8}}};
  all.largest_integer = 3;
  return all;
}

}  // namespace shardscope::test
