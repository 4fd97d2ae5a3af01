#include "engine/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace shardscope {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: no UTF-8
};

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t code = first & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  const bool shorter = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (shorter || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

bool is_shown(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  const bool separates = code == 0x2028 || code == 0x2029;
  const bool turns = code == 0x200e || code == 0x200f || code == 0x061c || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
  return !separates && !turns && code != 0xfeff;
}

std::string escaped(uint32_t code) {
  switch (code) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return fmt::format("\\u{:04x}", code);
  }
}

std::string shown(std::string_view text, bool keep_newlines) {
  std::string result;
  while (!text.empty()) {
    const Character character = first_character(text);
    const size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    if (character.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_shown(character.code) || (keep_newlines && character.code == '\n')) {
      result += text.substr(0, bytes);
    } else {
      result += escaped(character.code);
    }
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, false); }

std::string printable_lines(std::string_view text) { return shown(text, true); }

std::string_view first_characters(std::string_view text, size_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end += std::max<size_t>(first_character(text.substr(end)).bytes, 1);
  return text.substr(0, end);
}

}  // namespace shardscope
