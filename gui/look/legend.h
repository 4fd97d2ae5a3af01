#pragma once

#include <QPainter>
#include <functional>
#include <vector>

namespace shardscope {

// What a mark of a picture stands for.
struct LegendEntry {
  QString text;
  std::function<void(QPainter&, const QRectF& box)> mark;
};

constexpr double legend_line = 22;  // pixels

// Entries beside each other, in as many lines as a width needs for all of them, in the font that is given.
double legend_height(const std::vector<LegendEntry>& entries, const QFontMetricsF& metrics, double width);
// That of the widest entry.
double least_legend_width(const std::vector<LegendEntry>& entries, const QFontMetricsF& metrics);
// From the top left corner of the place.
void paint_legend(QPainter& painter, const QRectF& place, const std::vector<LegendEntry>& entries);

}  // namespace shardscope
