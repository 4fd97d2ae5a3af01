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

// "ck//" -> "ck"; "/" stays.
inline std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace shardscope
