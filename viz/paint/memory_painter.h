#pragma once

#include <QPainter>

#include "viz/paint/memory_geometry.h"
#include "viz/paint/palette.h"

namespace shardscope {

// Draws the grain of a memory picture with offset `low` at the bottom of `place`: each cell in the categories' colours,
// as opaque as it is covered.
void paint_grain(QPainter& painter, const QRectF& place, const MemoryGrain& grain, const Theme& theme);

}  // namespace shardscope
