#include "engine/plan/plan.h"

#include <algorithm>

#include "engine/config/strategy.h"
#include "engine/program/program_text.h"

namespace shardscope {

double PlanTotals::fragmentation() const {
  if (memory_total == 0) return 0;
  return static_cast<double>(memory_total - live_lower_bound) / static_cast<double>(memory_total);
}

std::vector<int> PipelinePlan::layers_of(int stage) const {
  std::vector<int> own;
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    own.push_back(layers[static_cast<size_t>(chunk * shape.stages + stage)]);
  }
  return own;
}

double Plan::waiting_share(int stage) const {
  if (pipeline.totals.size() == 1 || simulation.seconds <= 0) return 0;
  return 1 - pipeline.totals[static_cast<size_t>(stage)].seconds_per_step / simulation.seconds;
}

std::string Plan::instruction_name(const Instruction& instruction) const {
  return ProgramText{program, *graph, mesh}.instruction(instruction);
}
std::string Plan::cause(const Instruction& instruction) const {
  std::string text = ProgramText{program, *graph, mesh, pins}.cause(instruction);
  return first_rule_of_strategy ? in_words_of_strategy(std::move(text), *first_rule_of_strategy) : text;
}
std::string Plan::value_name(int id) const { return ProgramText{program, *graph, mesh}.value(id); }
std::string Plan::buffer_name(const Buffer& buffer, int stage) const {
  return ProgramText{program, *graph, mesh}.buffer(buffer, stage);
}

std::string Plan::pipeline_axis() const { return pipeline.axis ? mesh.axes()[*pipeline.axis].name : std::string(); }

std::vector<int> Plan::devices_of_stage(int stage) const {
  std::vector<int> devices;
  for (int device = 0; device < mesh.device_count(); ++device) {
    if (stage_of(device) == stage) devices.push_back(device);
  }
  return devices;
}

int Plan::host_of(int device) const {
  int host = 0;
  for (int end = 0; host + 1 < std::ssize(ranks_per_host); ++host) {
    end += ranks_per_host[static_cast<size_t>(host)];
    if (device < end) break;
  }
  return host;
}

int64_t Plan::arena_bytes() const { return largest_arena_bytes(arenas); }

double wire_bytes_of(const Plan& plan, int device) {
  double bytes = 0;
  for (const Instruction& instruction : plan.program.main_instructions(plan.stage_of(device))) {
    const CollectiveStart* start = instruction.as<CollectiveStart>();
    if (start && !start->receivers.empty()) {
      const std::vector<int> group = plan.mesh.group(device, {start->axes.begin(), start->axes.end()});
      if (!start->sends(std::ranges::find(group, device) - group.begin())) continue;
    }
    bytes += instruction.wire_bytes();
  }
  return bytes;
}

}  // namespace shardscope
