#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of op embedding_grad.
struct EmbeddingGradAttributes {
  int64_t vocabulary = 1;  // rows of the table
  bool operator==(const EmbeddingGradAttributes&) const = default;
};
std::string to_string(const EmbeddingGradAttributes& attributes);

}  // namespace shardscope
