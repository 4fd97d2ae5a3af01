#include "gui/pages/no_plan.h"

#include "gui/look/empty_state.h"

namespace shardscope {

void paint_no_plan(QPainter& painter, const QRect& place, const Planner& planner) {
  if (planner.is_busy()) return paint_empty_state(painter, place, Planner::tr("Planning\u2026"), {});
  paint_empty_state(painter, place, Planner::tr("No plan yet"),
                    Planner::tr("The run file has problems; fix what the Problems panel lists."));
}

}  // namespace shardscope
