#include "viz/paint/pipeline_geometry.h"

#include <algorithm>
#include <cstdlib>

namespace shardscope {
namespace {

// Adds a step to the block before it, or begins one: for another run, or where it waited.
void add_step(PipelineRow& row, double start, double end, int position, bool begins) {
  if (begins || row.blocks.empty()) row.blocks.push_back({start, end, position});
  row.blocks.back().end = end;
}

// The text behind `mark`, up to a comma; empty without it.
std::string_view behind(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + mark.size());
  return text.substr(0, text.find(','));
}

}  // namespace

double PipelinePicture::bubble() const {
  double busy = 0;
  for (const PipelineRow& row : rows) busy += row.busy;
  return seconds > 0 ? 1 - busy / (seconds * double(rows.size())) : 0;
}

int device_at_stage(const Plan& plan, int device, int stage) {
  return plan.pipeline.axis ? plan.mesh.group(device, {*plan.pipeline.axis})[size_t(stage)] : device;
}

PipelinePicture predicted_pipeline(const Plan& plan) {
  PipelinePicture picture;
  const Simulation& timeline = plan.simulation;
  picture.seconds = timeline.seconds;
  const double least = timeline.seconds * 1e-9;
  for (int stage = 0; stage < static_cast<int>(timeline.stages.size()); ++stage) {
    const std::vector<Simulation::Span>& spans = timeline.stages[static_cast<size_t>(stage)];
    PipelineRow row{stage, device_at_stage(plan, 0, stage), {}, 0};
    if (!spans.empty()) {
      const Sequence& sequence = plan.program.main(stage);
      for (const TaskRun& run : sequence.runs) {
        const int steps = static_cast<int>(plan.program.tasks[run.task].instructions.size());
        for (int position = run.first; position < run.first + steps; ++position) {
          const auto [start, end] = spans[static_cast<size_t>(position)];
          const bool waited = !row.blocks.empty() && start > row.blocks.back().end + least;
          add_step(row, start, end, position, position == run.first || waited);
          row.busy += end - start;
        }
      }
    }
    picture.rows.push_back(std::move(row));
  }
  return picture;
}

std::optional<PipelinePicture> measured_pipeline(const Plan& plan, std::span<const std::vector<PlanStepTime>> times,
                                                 int device) {
  std::vector<int> devices;
  int64_t zero = 0, last = 0;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const int shown = device_at_stage(plan, device, stage);
    if (shown >= std::ssize(times)) return std::nullopt;
    const std::vector<PlanStepTime>& own = times[static_cast<size_t>(shown)];
    if (own.empty() || static_cast<int>(own.size()) != plan.instructions(stage).size()) return std::nullopt;
    zero = stage == 0 ? own.front().arrive_ns : std::min(zero, own.front().arrive_ns);
    last = std::max(last, own.back().end_ns);
    devices.push_back(shown);
  }
  PipelinePicture picture;
  const auto seconds = [&](int64_t ns) { return static_cast<double>(ns - zero) * 1e-9; };
  picture.seconds = seconds(last);
  const double least = picture.seconds * 1e-3;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    PipelineRow row{stage, devices[static_cast<size_t>(stage)], {}, 0};
    const std::vector<PlanStepTime>& own = times[static_cast<size_t>(row.device)];
    for (const TaskRun& run : plan.program.main(stage).runs) {
      int position = run.first;
      const Task& task = plan.program.tasks[run.task];
      for (int place = 0; place < task.size(); ++place) {
        const Instruction& instruction = task.issued(place);
        const auto& [arrive, start, end] = own[static_cast<size_t>(position)];
        const double from = seconds(is_transfer(instruction.kind()) ? start : arrive);
        const bool waited = from - seconds(arrive) > least;
        add_step(row, from, seconds(end), position, position == run.first || waited);
        row.busy += seconds(end) - from;
        ++position;
      }
    }
    picture.rows.push_back(std::move(row));
  }
  return picture;
}

TaskLabel label_of(const Plan& plan, const TaskRun& run) {
  const std::string_view task = plan.program.tasks[run.task].name;
  const std::string_view part = task.substr(0, task.find(" of stage"));
  TaskLabel label;
  label.is_weights = part == "backward of weights";
  label.is_repeated = part == "forward" || part == "backward" || label.is_weights;
  label.text = part;
  if (!label.is_repeated) return label;
  const std::string chunk(behind(task, ", chunk "));
  label.chunk = chunk.empty() ? 0 : std::atoi(chunk.c_str());
  label.text = std::string(part == "forward" ? "F" : label.is_weights ? "W" : "B") + std::to_string(run.microbatch);
  if (!chunk.empty()) label.text += static_cast<char>('a' + label.chunk % 26);
  return label;
}

}  // namespace shardscope
