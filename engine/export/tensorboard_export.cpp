#include "engine/base/wall_time.h"
#include "engine/export/event_file.h"
#include "engine/export/kinds.h"
#include "engine/export/tensorboard.h"

namespace shardscope {

namespace {

// A record does not say when each step was: it is taken to end when those before it and itself have taken their time.
void write_events(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  double wall_time = source.run->started.value_or(seconds_since_1970());
  target.write(file_version_record(wall_time));
  replay_steps(
      source, target,
      [&](const StepMessage& step) { target.write(step_record(step, wall_time += step.step_ms * 1e-3)); },
      [&](const RestartMessage& restart) { target.write(restart_record(wall_time, restart.from_step)); });
}

}  // namespace

ExportKind tensorboard_export() {
  ExportKind kind{"tensorboard",  "the metrics of a recorded run as an event file of TensorBoard",
                  "tfevents",     {},
                  true,           write_events,
                  event_file_name};
  kind.part_of_name = {"tfevents", "TensorBoard"};
  return kind;
}

}  // namespace shardscope
