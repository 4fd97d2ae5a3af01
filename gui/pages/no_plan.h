#pragma once

#include <QPainter>

#include "gui/planning/planner.h"

namespace shardscope {

// What a page shows while the file has no plan: that one is being made, or that its problems stand in the way.
void paint_no_plan(QPainter& painter, const QRect& place, const Planner& planner);

}  // namespace shardscope
