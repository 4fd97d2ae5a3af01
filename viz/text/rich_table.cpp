#include "viz/text/rich_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardscope {
namespace {

using Widths = std::vector<int64_t>;

int64_t sum(const Widths& widths) { return std::accumulate(widths.begin(), widths.end(), int64_t{0}); }

int64_t label_width(const TableCell& cell) { return static_cast<int64_t>(cell.label.size()); }

// rich Padding.__rich_measure__
int64_t measure(const TableCell& cell, int64_t available) {
  if (available < 1 || available - cell.left - cell.right < 1) return std::max<int64_t>(available, 0);
  return std::min(label_width(cell) + cell.left + cell.right, available);
}

int64_t measure_column(const std::vector<std::vector<TableCell>>& rows, size_t column, int64_t available) {
  int64_t width = 0;
  for (const std::vector<TableCell>& row : rows) width = std::max(width, measure(row[column], available));
  return width;
}

// rich _ratio.ratio_reduce: takes `total` from the chosen columns in equal parts, at most `maximum` from each.
void reduce(Widths& widths, const std::vector<bool>& chosen, int64_t total, const Widths& maximum) {
  int64_t parts = 0;
  for (size_t i = 0; i < widths.size(); ++i) parts += chosen[i] && maximum[i] != 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (!chosen[i] || maximum[i] == 0) continue;
    const double share = static_cast<double>(total) / static_cast<double>(parts);
    const int64_t taken = std::min(maximum[i], static_cast<int64_t>(std::nearbyint(share)));
    widths[i] -= taken;
    total -= taken;
    --parts;
  }
}

// rich Table._collapse_widths: lowers the widest columns to the next narrower ones until all fit.
void collapse(Widths& widths, int64_t available) {
  for (int64_t excess = sum(widths) - available; excess > 0; excess = sum(widths) - available) {
    const int64_t widest = *std::max_element(widths.begin(), widths.end());
    int64_t second = 0;
    std::vector<bool> chosen;
    for (int64_t width : widths) {
      if (width != widest) second = std::max(second, width);
      chosen.push_back(width == widest);
    }
    if (widest == second) return;
    reduce(widths, chosen, excess, Widths(widths.size(), std::min(excess, widest - second)));
  }
}

Widths column_widths(const std::vector<std::vector<TableCell>>& rows, int64_t available) {
  Widths widths;
  for (size_t column = 0; column < rows[0].size(); ++column) {
    widths.push_back(std::max<int64_t>(1, measure_column(rows, column, available)));
  }
  if (sum(widths) <= available) return widths;
  collapse(widths, available);
  for (size_t column = 0; column < widths.size(); ++column) {
    widths[column] = measure_column(rows, column, widths[column]);
  }
  return widths;
}

std::string border(const Widths& widths, const char* left, const char* middle, const char* right) {
  std::string text = left;
  for (size_t column = 0; column < widths.size(); ++column) {
    if (column) text += middle;
    for (int64_t i = 0; i < widths[column]; ++i) text += "─";
  }
  return text + right + "\n";
}

std::string spaces(int64_t count) { return std::string(static_cast<size_t>(count), ' '); }

std::string cell_line(const TableCell& cell, int64_t width, int64_t line) {
  if (line != cell.top) return spaces(width);
  const int64_t free = width - cell.left - cell.right - label_width(cell);
  return spaces(cell.left + free / 2) + cell.label + spaces(free - free / 2 + cell.right);
}

}  // namespace

std::optional<std::string> draw_rich_table(const std::vector<std::vector<TableCell>>& rows, int64_t console_width) {
  if (rows.empty() || rows[0].empty()) return std::nullopt;
  const int64_t lines_between = static_cast<int64_t>(rows[0].size()) + 1;
  const Widths widths = column_widths(rows, console_width - lines_between);

  std::string text = border(widths, "┌", "┬", "┐");
  for (size_t row = 0; row < rows.size(); ++row) {
    if (row) text += border(widths, "├", "┼", "┤");
    int64_t height = 0;
    for (size_t column = 0; column < widths.size(); ++column) {
      const TableCell& cell = rows[row][column];
      if (widths[column] - cell.left - cell.right < label_width(cell)) return std::nullopt;
      height = std::max(height, cell.top + 1 + cell.bottom);
    }
    for (int64_t line = 0; line < height; ++line) {
      text += "│";
      for (size_t column = 0; column < widths.size(); ++column) {
        text += cell_line(rows[row][column], widths[column], line) + "│";
      }
      text += "\n";
    }
  }
  return text + border(widths, "└", "┴", "┘");
}

}  // namespace shardscope
