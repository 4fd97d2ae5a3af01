#include "engine/ops/embedding.h"
#include "tests/ops/op_cases.h"

namespace shardscope::test {

OpCases embedding_cases() {
  OpCases all;
  all.cases = {{"embedding", {large::ids, array({36, 24})}, {}, {1}},
               {"embedding", {large::ids, half({36, 24})}, {}, {1}},
               {"embedding_grad", {large::ids, large::x}, EmbeddingGradAttributes{36}}};
  all.small_cases = {{"embedding", {small::ids, array({24, 16})}},
                     {"embedding_grad", {small::ids, small::x}, EmbeddingGradAttributes{24}}};
  return all;
}

}  // namespace shardscope::test
