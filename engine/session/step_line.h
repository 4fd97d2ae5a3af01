#pragma once

#include <string>

#include "engine/session/messages.h"

namespace shardscope {

// Lines that a run leaves for scripts.

// One JSON object: step, each metric under its own name (loss, accuracy; val_loss where it was evaluated), step_ms, and
// ranks, each with the fields of RankMeasurement (session/step_record.h). A number that is not finite is null.
std::string json_line(const StepMessage& step);
// One JSON object between the steps: {"restart": 1, "from_step": 0, "rank": 2, "message": "rank 2 was killed ..."}.
// What was written of steps from that on is done again.
std::string json_line(const RestartMessage& restart);

}  // namespace shardscope
