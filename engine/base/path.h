#pragma once

#include <string>
#include <vector>

namespace shardscope {

// {"params", "Embed_0", "embedding"} -> "params/Embed_0/embedding".
inline std::string join_path(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : "/") + part;
  return text;
}

}  // namespace shardscope
