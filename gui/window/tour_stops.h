#pragma once

#include "gui/window/centre.h"
#include "gui/window/docks.h"
#include "gui/window/tool_bar.h"
#include "gui/window/tour.h"

class QStatusBar;

namespace shardscope {

// A minute through the window.
std::vector<TourStop> tour_stops(ToolBar& bar, Centre& centre, Docks& docks, QStatusBar& verdict);
// Brings back the page and the panels that are seen now.
std::function<void()> arrangement(Centre& centre, Docks& docks);

}  // namespace shardscope
