#pragma once

#include <QPainter>
#include <QStringList>
#include <array>
#include <vector>

#include "viz/paint/palette.h"

namespace shardscope {

// One stripe for each tone, all alike in size, the first axis first: side by side, or in a place that is higher than
// wide below each other. Too small for stripes, a mixture of the tones in equal parts; neutral without tones.
void paint_tones(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Theme& theme);
// The coordinate of each stripe in its lower corner, "data 3" or "3", where there is room.
void paint_tone_labels(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Mesh& mesh,
                       const Theme& theme);
// Diagonal lines: "the same data lies elsewhere too".
void paint_hatch(QPainter& painter, const QRectF& place, const Theme& theme);
// The first of the texts that fits into the place, on a plate of the colour `back`; nothing where none does.
void paint_plate(QPainter& painter, const QRectF& place, const QStringList& texts, const QColor& back,
                 const QColor& ink);
// A frame inside the edges of a cell.
void paint_ring(QPainter& painter, const QRectF& place, const QColor& color, double width);

// What a cell of a mesh is filled with that is too small for stripes. Many cells share few coordinates, and the colour
// of one costs more than a cell: it remembers them.
class Fills {
 public:
  explicit Fills(const Theme& theme) : theme_(theme) {}
  QColor operator()(const std::vector<AxisTone>& tones);

 private:
  const Theme& theme_;
  std::array<std::vector<QRgb>, Mesh::max_axes> known_;  // by axis and coordinate; 0: not yet
};

}  // namespace shardscope
