#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace shardscope {

// {"params", "Embed_0", "embedding"} -> "params/Embed_0/embedding".
inline std::string join_path(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : "/") + part;
  return text;
}

// "params/Embed_0/embedding" -> {"params", "Embed_0", "embedding"}.
inline std::vector<std::string> split_path(const std::string& text) {
  std::vector<std::string> path;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('/', begin), text.size());
    path.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return path;
}

// "ck//" -> "ck"; "/" stays.
inline std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace shardscope
