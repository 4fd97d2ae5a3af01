#pragma once

#include <QPainter>

namespace shardscope {

// Lines and marks of bytes from `low` at the bottom of a place to `high` at its top, the unit above them.
void paint_byte_axis(QPainter& painter, const QRectF& place, double low, double high);
// Numbers of instructions from the left of a place to its right, at height `y`.
void paint_instruction_axis(QPainter& painter, const QRectF& place, double y, double first, double last);

}  // namespace shardscope
