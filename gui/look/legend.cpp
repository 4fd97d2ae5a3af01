#include "gui/look/legend.h"

#include <algorithm>

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr double box_width = 16, box_height = 12, before_text = 6, between_entries = 20;

double entry_width(const LegendEntry& entry, const QFontMetricsF& metrics) {
  return box_width + before_text + metrics.horizontalAdvance(entry.text);
}

// Calls `take` with the place of each entry's box, relative to the legend; gives the number of lines.
int place_entries(const std::vector<LegendEntry>& entries, const QFontMetricsF& metrics, double width,
                  const std::function<void(size_t, const QRectF&)>& take) {
  double x = 0;
  int line = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const double needed = entry_width(entries[i], metrics);
    if (x > 0 && x + needed > width) {
      x = 0;
      ++line;
    }
    take(i, {x, line * legend_line + (legend_line - box_height) / 2, box_width, box_height});
    x += needed + between_entries;
  }
  return entries.empty() ? 0 : line + 1;
}

}  // namespace

double legend_height(const std::vector<LegendEntry>& entries, const QFontMetricsF& metrics, double width) {
  return legend_line * place_entries(entries, metrics, width, [](size_t, const QRectF&) {});
}

double least_legend_width(const std::vector<LegendEntry>& entries, const QFontMetricsF& metrics) {
  double width = 0;
  for (const LegendEntry& entry : entries) width = std::max(width, entry_width(entry, metrics));
  return width;
}

void paint_legend(QPainter& painter, const QRectF& place, const std::vector<LegendEntry>& entries) {
  const QFontMetricsF metrics(painter.font());
  place_entries(entries, metrics, place.width(), [&](size_t number, const QRectF& at) {
    const QRectF box = at.translated(place.topLeft());
    entries[number].mark(painter, box);
    painter.setPen(theme().muted);
    painter.drawText(QRectF(box.right() + before_text, box.center().y() - legend_line / 2,
                            metrics.horizontalAdvance(entries[number].text) + 4, legend_line),
                     Qt::AlignLeft | Qt::AlignVCenter, entries[number].text);
  });
}

}  // namespace shardscope
