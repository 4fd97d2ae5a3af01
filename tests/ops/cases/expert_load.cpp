#include "engine/ops/expert_load.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> expert_load_variants() {
  const ExpertLoadAttributes made{8};
  [[maybe_unused]] const auto& [experts] = made;
  return {made, ExpertLoadAttributes{9}};
}

}  // namespace

OpCases expert_load_cases() {
  OpCases all;
  all.cases = {{"expert_load", {large::choices}, ExpertLoadAttributes{12}}};
  all.small_cases = {{"expert_load", {small::choices}, ExpertLoadAttributes{8}}};
  all.largest_integer = 3;
  all.attributes = {expert_load_variants()};
  return all;
}

}  // namespace shardscope::test
