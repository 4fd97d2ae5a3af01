#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

// A label centred in a cell, with spaces and blank lines around it.
struct TableCell {
  std::string label;  // ASCII
  int64_t top = 0, right = 0, bottom = 0, left = 0;
};

// The table that the Python package rich (15, rich/table.py) draws on a console of `console_width` columns: square
// box, lines between rows, no further padding. A table that is too wide has its widest columns narrowed first.
// Nothing where a column becomes too narrow for a label to stay on one line.
std::optional<std::string> draw_rich_table(const std::vector<std::vector<TableCell>>& rows, int64_t console_width);

}  // namespace shardscope
