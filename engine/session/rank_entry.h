#pragma once

#include <cstdint>
#include <string>

#include "engine/base/process.h"
#include "engine/session/rank_phase.h"

namespace shardscope {

// What a rank has said of itself since its main began, before it has telemetry and after.
struct RankEntry {
  ProcessId process;  // pid 0: it has not come yet
  RankPhase phase = RankPhase::launching;
  int64_t failed_ns = 0;  // CLOCK_MONOTONIC; 0: it has not failed
  bool by_peer = false;   // it failed because another rank did
  std::string error;      // of a failed rank
  bool operator==(const RankEntry&) const = default;
};

}  // namespace shardscope
