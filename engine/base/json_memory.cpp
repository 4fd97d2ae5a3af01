#include "engine/base/json_memory.h"

namespace shardscope {

namespace {

constexpr size_t value_bytes = 32;   // in an array that grows
constexpr size_t holder_bytes = 64;  // of an array, an object, a text or an entry of an object, besides

}  // namespace

size_t json_memory(std::string_view json) {
  size_t values = 1, holders = 0, text = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text && c != '"') {
      ++text;
      if (c == '\\') ++i;
    } else if (c == '"') {
      in_text = !in_text;
      holders += in_text;
    } else if (c == ',') {
      ++values;
    } else if (c == '[' || c == '{') {
      ++values;
      ++holders;
    } else if (c == ':') {
      ++holders;
    }
  }
  return values * value_bytes + holders * holder_bytes + text;
}

}  // namespace shardscope
