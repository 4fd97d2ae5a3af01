#include "gui/pages/timeline_legend.h"

#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "viz/paint/timeline_image.h"

namespace shardscope {

QColor in_use_color() { return mix(category_color(MemoryCategory::activations, theme()), theme().window, 0.25); }

std::vector<LegendEntry> timeline_legend(const TimelineColors& colors, bool is_measured, bool has_streams) {
  std::vector<LegendEntry> entries;
  const auto add = [&entries](const QColor& color, const QString& text, bool is_low) {
    entries.push_back({text, [color, is_low](QPainter& painter, const QRectF& box) {
                         painter.fillRect(is_low ? box.adjusted(0, 5, 0, 0) : box, color);
                       }});
  };
  if (is_measured) add(mix(theme().warning, theme().window, 0.45), QObject::tr("waiting"), true);
  const auto moving = std::ranges::find_if(colors.legend, &TimelineColor::is_moving);
  if (moving != colors.legend.end() && has_streams) {
    const QColor strong = moving->color, faint = mix(theme().window, strong, pale);
    entries.push_back(
        {QObject::tr("exposed, pale: hidden behind work"), [strong, faint](QPainter& painter, const QRectF& box) {
           painter.fillRect(box.adjusted(0, 0, -box.width() / 2, 0), strong);
           painter.fillRect(box.adjusted(box.width() / 2, 0, 0, 0), faint);
         }});
  }
  add(in_use_color(), QObject::tr("memory in use"), true);
  for (size_t i = colors.legend.size(); i-- > 0;)
    if (colors.legend[i].is_moving) add(colors.legend[i].color, qt(colors.legend[i].label), false);
  for (const TimelineColor& color : colors.legend)
    if (!color.is_moving) add(color.color, qt(color.label), false);
  return entries;
}

}  // namespace shardscope
