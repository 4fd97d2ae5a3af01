#pragma once

#include "engine/plan/schedules/schedule.h"

namespace shardscope {

PipelineSchedule gpipe();
PipelineSchedule one_f_one_b();
PipelineSchedule interleaved();
PipelineSchedule zero_bubble();

// Of schedules without chunks.
std::vector<Error> check_one_chunk(const PipelineShape& shape);

}  // namespace shardscope
