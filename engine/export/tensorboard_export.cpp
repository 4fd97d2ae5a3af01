#include <fmt/format.h>

#include "engine/export/event_file.h"
#include "engine/export/kinds.h"
#include "engine/export/tensorboard.h"

namespace shardscope {

namespace {

// A record does not say when each step was: it is taken to end when those before it and itself have taken their time.
void write_events(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  double wall_time = source.run->started;
  int64_t steps = 0;
  target.write(file_version_record(wall_time));
  source.run->replay([&](const Message& message) {
    if (auto* step = std::get_if<StepMessage>(&message)) {
      wall_time += step->step_ms * 1e-3;
      target.write(step_record(*step, wall_time));
      target.progress(static_cast<double>(++steps) / static_cast<double>(source.plan->config.steps));
    } else if (auto* restart = std::get_if<RestartMessage>(&message)) {
      target.write(restart_record(wall_time, restart->from_step));
    }
  });
  target.note(fmt::format("{} step{}", steps, steps == 1 ? "" : "s"));
}

}  // namespace

ExportKind tensorboard_export() {
  return {"tensorboard",  "the metrics of a recorded run as an event file of TensorBoard",
          "tfevents",     {},
          true,           write_events,
          event_file_name};
}

}  // namespace shardscope
