#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/plural.h"
#include "engine/base/units.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/text_table.h"
#include "engine/lint/lint.h"
#include "engine/plan/host_groups.h"

namespace shardscope {

namespace {

using Align = TextTable::Align;

std::string mesh_line(const Plan& plan) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : plan.mesh.axes()) axes.push_back(fmt::format("{} [{}]", axis.name, axis.size));
  return fmt::format("Mesh: {} = {}\n", axes.empty() ? "no axes" : fmt::format("{}", fmt::join(axes, " x ")),
                     counted(plan.mesh.device_count(), "device")) +
         (hosts_text(plan).empty() ? "" : hosts_text(plan) + "\n");
}

std::string parameter_table(const Plan& plan) {
  TextTable table({{"Parameter"}, {"Shape"}, {"Spec"}, {"Per device"}, {"Bytes", Align::right}});
  for (const ParameterPlan& parameter : plan.parameters) {
    Shape local = local_shape(parameter.sharding, plan.mesh, parameter.shape);
    table.add_row({fmt::format("{}", fmt::join(parameter.path, "/")), to_string(parameter.shape),
                   parameter.named ? to_string(parameter.spec) : "replicated", to_string(local),
                   bytes_text(static_cast<double>(element_count(local) * byte_size(parameter.dtype)))});
  }
  return table.text();
}

std::string memory_table(const Plan& plan) {
  const std::string title =
      plan.stack.runs_here() ? "Memory per device" : fmt::format("Memory per device, as {} holds it", plan.stack.name);
  TextTable table({{title}, {"Size", Align::right}, {"Bytes", Align::right}});
  auto add = [&](std::string label, int64_t bytes) {
    table.add_row({std::move(label), bytes_text(static_cast<double>(bytes)), std::to_string(bytes)});
  };
  for (int i = 0; i < memory_category_count; ++i) {
    add(std::string(name(static_cast<MemoryCategory>(i))), plan.totals.device_memory[i]);
  }
  if (!plan.stack.runs_here()) add("allocator", plan.totals.allocator_bytes);
  add("total", plan.totals.device_bytes);
  return table.text();
}

// A bucket has a line of cause for each array that it carries.
std::string first_cause(const Plan& plan, const Instruction& instruction) {
  const std::string cause = plan.cause(instruction);
  size_t end = cause.find('\n');
  if (end == std::string::npos) return cause;
  return fmt::format("{}, and {} more", cause.substr(0, end), instruction.moved().size() - 1);
}

std::string collective_table(const Plan& plan) {
  const bool has_hosts = plan.ranks_per_host.size() > 1;
  TextTable table({{"Collective"},
                   {"Axes"},
                   {has_hosts ? "Group/hosts" : "Group", Align::right},
                   {"Bytes", Align::right},
                   {"Sent", Align::right},
                   {"Phase"},
                   {"Cause"}});
  const auto add = [&](int stage, int position, int count) {
    const Instruction& instruction = plan.instructions(stage)[position];
    if (!is_collective(instruction.kind()) && instruction.kind() != InstructionKind::send) return;
    const std::string times = count > 1 ? fmt::format(" x {}", count) : "";
    std::vector<std::string> axes;
    for (AxisIndex axis : instruction.axes()) axes.push_back(plan.mesh.axes()[axis].name);
    if (instruction.kind() == InstructionKind::send) {
      axes = {fmt::format("stage {} to {}", stage, plan.program.channels[instruction.channel()].to)};
    } else if (plan.program.stages > 1) {
      axes.push_back(fmt::format("on stage {}", stage));
    }
    table.add_row({std::string(name(instruction.kind())), fmt::format("{}", fmt::join(axes, ",")),
                   has_hosts ? fmt::format("{}/{}", instruction.group_size(), hosts_of_group(plan, instruction))
                             : std::to_string(instruction.group_size()),
                   bytes_text(static_cast<double>(instruction.payload_bytes())), bytes_text(instruction.wire_bytes()),
                   std::string(name(instruction.phase)) + times,
                   instruction.kind() == InstructionKind::send ? plan.instruction_name(instruction)
                                                               : first_cause(plan, instruction)});
  };
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) add(stage, position, count);
  }
  return table.empty() ? "No collectives\n" : table.text();
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text =
      mesh_line(plan) + "\n" + parameter_table(plan) + "\n" + memory_table(plan) + "\n" + collective_table(plan) + "\n";
  if (const std::string pipeline = pipeline_text(plan); !pipeline.empty()) text += pipeline + "\n";
  text += fmt::format("At its peak {:.1f} % of the arena is unused\n", plan.totals.fragmentation() * 100);
  text += fmt::format("Each device sends {} and computes {:.2f} GFLOP a step, about {:.3g} s\n",
                      bytes_text(plan.totals.wire_bytes_per_device), plan.totals.flops_per_device / 1e9,
                      plan.totals.seconds_per_step);
  const auto most_hidden =
      std::ranges::max_element(plan.simulation.communication, {}, &Simulation::Communication::hidden);
  if (most_hidden != plan.simulation.communication.end() && most_hidden->hidden > 0)
    text += fmt::format("Collectives: {:.3g} s exposed, {:.3g} s hidden behind computation\n", most_hidden->exposed,
                        most_hidden->hidden);
  if (!plan.bf16_products.empty()) text += fmt::format("bf16 matrix products: {}\n", plan.bf16_products);
  text += fmt::format("Plan {:016x}, made in {:.1f} ms\n", plan.hash, plan.planning_milliseconds);
  for (const Error& warning : plan.warnings) text += fmt::format("warning: {}\n", to_string(warning));
  for (const Finding& finding : certain_findings(plan))
    text += fmt::format("advice: {}\n", to_string(to_error(finding)));
  return text;
}

}  // namespace shardscope
