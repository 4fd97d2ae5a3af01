#pragma once

#include <QPainter>
#include <QStringList>
#include <map>
#include <vector>

#include "viz/paint/palette.h"

namespace shardscope {

// One fill in the colour of the tones; where there is room, a tick at an edge for each tone that is reported so: the
// first along the top, then at the left, the bottom and the right, as far along as its coordinate is.
void paint_tones(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Theme& theme);
// The coordinates at the lower left, "data 3, model 1", or fewer words where there is less room.
void paint_tone_labels(QPainter& painter, const QRectF& place, const std::vector<AxisTone>& tones, const Mesh& mesh,
                       const Theme& theme);
// Diagonal lines: "the same data is elsewhere too".
void paint_hatch(QPainter& painter, const QRectF& place, const Theme& theme);
// The first of the texts that fits into the place, on a plate of the colour `back`; nothing where none does.
void paint_plate(QPainter& painter, const QRectF& place, const QStringList& texts, const QColor& back,
                 const QColor& ink);
// A frame inside the edges of a cell.
void paint_ring(QPainter& painter, const QRectF& place, const QColor& color, double width);

// The fills of the cells of a picture. Many cells share few colours, and a colour costs more than a cell: it remembers
// them.
class Fills {
 public:
  explicit Fills(const Theme& theme) : theme_(theme) {}
  QColor operator()(const std::vector<AxisTone>& tones);

 private:
  const Theme& theme_;
  std::map<std::vector<int64_t>, QColor> known_;  // by coordinates
};

}  // namespace shardscope
