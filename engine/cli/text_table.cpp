#include "engine/cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

std::string TextTable::text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(columns_[i].heading.size());
    for (const auto& row : rows_) widths[i] = std::max(widths[i], row[i].size());
  }
  auto format_row = [&](auto cell) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string gap = i == 0 ? "" : "  ";
      line += columns_[i].align == Align::left ? fmt::format("{}{:<{}}", gap, cell(i), widths[i])
                                               : fmt::format("{}{:>{}}", gap, cell(i), widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + '\n';
  };
  std::string text = format_row([&](size_t i) { return columns_[i].heading; });
  for (const auto& row : rows_) text += format_row([&](size_t i) { return row[i]; });
  return text;
}

}  // namespace shardscope
