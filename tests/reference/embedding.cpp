#include "engine/ops/embedding.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// A token outside the table gives zeros.
Results embedding(const Call& call) {
  const Values& tokens = call.values(0);
  const auto stored = table(call.operands[1]);
  Table rows = Table::Zero(tokens.size(), stored.cols());
  for (int64_t i = 0; i < tokens.size(); ++i) {
    const auto token = static_cast<int64_t>(tokens[i]);
    if (token >= 0 && token < stored.rows()) rows.row(i) = stored.row(token);
  }
  return {flat(rows)};
}

Results embedding_grad(const Call& call) {
  const Values& tokens = call.values(0);
  const auto cotangent = table(call.operands[1]);
  const int64_t vocabulary = call.attributes.as<EmbeddingGradAttributes>().vocabulary;
  Table sum = Table::Zero(vocabulary, cotangent.cols());
  for (int64_t i = 0; i < tokens.size(); ++i) {
    const auto token = static_cast<int64_t>(tokens[i]);
    if (token >= 0 && token < vocabulary) sum.row(token) += cotangent.row(i);
  }
  return {flat(sum)};
}

}  // namespace

std::vector<NamedReference> embedding_references() {
  return {{"embedding", embedding}, {"embedding_grad", embedding_grad}};
}

}  // namespace shardscope::reference
