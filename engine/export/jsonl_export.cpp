#include <fmt/format.h>

#include "engine/export/kinds.h"
#include "engine/session/step_line.h"

namespace shardscope {

namespace {

void write_lines(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  int64_t steps = 0;
  source.run->replay([&](const Message& message) {
    if (auto* step = std::get_if<StepMessage>(&message)) {
      target.write(json_line(*step));
      target.progress(static_cast<double>(++steps) / static_cast<double>(source.plan->config.steps));
    } else if (auto* restart = std::get_if<RestartMessage>(&message)) {
      target.write(json_line(*restart));
    }
  });
  target.note(fmt::format("{} step{}", steps, steps == 1 ? "" : "s"));
}

}  // namespace

ExportKind jsonl_export() {
  return {"jsonl", "a JSON object for each training step of a recorded run", "jsonl", {}, true, write_lines};
}

}  // namespace shardscope
