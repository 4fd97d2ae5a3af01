#pragma once

#include <QString>
#include <optional>

#include "gui/pages/timeline_words.h"

namespace shardscope {

// What stands before a row: "rank 3, stage 1 (late)", "waits 12 %".
struct TimelineTitle {
  QString title, detail;
  bool is_warning = false;  // a late rank; more memory than a device has
};

// `measured`: of a row of a rank; `memory`: of a row of memory, null where it is not known yet; `device`: the selected
// one, where the row is of it.
TimelineTitle timeline_title(const Plan& plan, const TimelineRow& row, const MeasuredStep* measured,
                             const MemoryTrack* memory, std::optional<int> device);

}  // namespace shardscope
