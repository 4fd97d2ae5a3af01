#pragma once

#include <vector>

#include "gui/look/legend.h"
#include "viz/paint/timeline_colors.h"

namespace shardscope {

QColor in_use_color();  // of memory

// `is_measured`: rows of ranks are shown; `has_streams`: rows of transfers.
std::vector<LegendEntry> timeline_legend(const TimelineColors& colors, bool is_measured, bool has_streams);

}  // namespace shardscope
