#pragma once

#include <variant>

#include "engine/session/messages.h"

namespace shardscope {

// What the run at hand is doing; what is known only in one phase is in that phase.
namespace run_phase {
struct Idle {};      // no run yet, or one that was left
struct Starting {};  // its process is started, or its socket looked for; no rank trains yet
struct Running {};
struct Paused {};
struct Stopping {  // asked to end
  bool at_once = false;
};
struct Ending {  // it has said how it ended; its process or its last messages are awaited
  RunEnd end = RunEnd::finished;
  bool is_asked = false;  // to end, since then
};
struct Over {  // nothing of it is awaited
  RunEnd end = RunEnd::finished;
};
}  // namespace run_phase

using RunPhase = std::variant<run_phase::Idle, run_phase::Starting, run_phase::Running, run_phase::Paused,
                              run_phase::Stopping, run_phase::Ending, run_phase::Over>;

}  // namespace shardscope
