#include "engine/export/kinds.h"
#include "engine/session/step_line.h"

namespace shardscope {

namespace {

void write_lines(const ExportSource& source, const ExportChoice&, ExportTarget& target) {
  replay_steps(
      source, target, [&](const StepMessage& step) { target.write(json_line(step)); },
      [&](const RestartMessage& restart) { target.write(json_line(restart)); });
}

}  // namespace

ExportKind jsonl_export() {
  return {"jsonl", "a JSON object for each training step of a recorded run", "jsonl", {}, true, write_lines};
}

}  // namespace shardscope
