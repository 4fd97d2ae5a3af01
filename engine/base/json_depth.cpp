#include "engine/base/json_depth.h"

#include <cstddef>

namespace shardscope {

bool is_nested_deeply(std::string_view json) {
  constexpr int deepest = 64;
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text && c == '\\') ++i;
    else if (c == '"') in_text = !in_text;
    else if (in_text) continue;
    else if ((c == '[' || c == '{') && ++depth > deepest) return true;
    else if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace shardscope
