#include "engine/cli/reference/wrap.h"

#include <sstream>

namespace shardscope {

std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::istringstream words(text);
  std::string lines;
  size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > width) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string with_code_marks(const std::string& text, const std::string& open, const std::string& close) {
  std::string marked;
  bool is_open = false;
  for (char c : text) {
    if (c != '`') marked += c;
    else marked += (is_open = !is_open) ? open : close;
  }
  return marked;
}

}  // namespace shardscope
