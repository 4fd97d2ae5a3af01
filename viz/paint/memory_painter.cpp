#include "viz/paint/memory_painter.h"

#include <QImage>
#include <algorithm>

namespace shardscope {

void paint_grain(QPainter& painter, const QRectF& place, const MemoryGrain& grain, const Theme& theme) {
  std::array<QColor, memory_category_count> colors;
  for (int category = 0; category < memory_category_count; ++category)
    colors[category] = category_color(static_cast<MemoryCategory>(category), theme);
  QImage image(grain.columns, grain.rows, QImage::Format_ARGB32_Premultiplied);
  for (int row = 0; row < grain.rows; ++row) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(grain.rows - 1 - row));
    for (int column = 0; column < grain.columns; ++column) {
      const auto& shares = grain.shares[size_t(row) * size_t(grain.columns) + size_t(column)];
      double red = 0, green = 0, blue = 0, opacity = 0;
      for (int category = 0; category < memory_category_count; ++category) {
        red += shares[category] * colors[category].red();
        green += shares[category] * colors[category].green();
        blue += shares[category] * colors[category].blue();
        opacity += shares[category] * 255;
      }
      const auto byte = [](double value) { return static_cast<int>(std::clamp(value + 0.5, 0.0, 255.0)); };
      line[column] = qRgba(byte(red), byte(green), byte(blue), byte(opacity));
    }
  }
  const double width = grain.columns * grain.cell, height = grain.rows * grain.cell;
  painter.drawImage(QRectF(place.x(), place.bottom() - height, width, height), image);
}

}  // namespace shardscope
