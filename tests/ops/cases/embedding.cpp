#include "engine/ops/embedding.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

namespace {

std::vector<Attributes> embedding_grad_variants() {
  const EmbeddingGradAttributes a{7};
  [[maybe_unused]] const auto& [vocabulary] = a;
  return {a, EmbeddingGradAttributes{8}};
}

}  // namespace

OpCases embedding_cases() {
  OpCases all;
  all.cases = {{"embedding", {large::ids, array({36, 24})}, {}, {1}},
               {"embedding", {large::ids, half({36, 24})}, {}, {1}},
               {"embedding_grad", {large::ids, large::x}, EmbeddingGradAttributes{36}}};
  all.small_cases = {{"embedding", {small::ids, array({24, 16})}},
                     {"embedding_grad", {small::ids, small::x}, EmbeddingGradAttributes{24}}};
  all.attributes = {embedding_grad_variants()};
  all.sized_by_attributes = {"embedding_grad"};
  return all;
}

}  // namespace shardscope::test
