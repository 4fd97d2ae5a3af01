#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "engine/base/plural.h"
#include "engine/base/units.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/text_table.h"
#include "engine/lint/lint.h"
#include "engine/plan/host_groups.h"
#include "engine/plan/prediction.h"
#include "engine/plan/time_causes.h"

namespace shardscope {

namespace {

using Align = TextTable::Align;

// Rows of a table of which those that differ only in the numbers of their last cell's name, as layers do, are one.
struct LayerRow {
  std::vector<std::string> cells;
  std::string name, pattern;
  int count = 0, layers = 0;
};

class LayerRows {
 public:
  explicit LayerRows(bool each_layer) : each_layer_(each_layer) {}

  void add(std::vector<std::string> cells, std::string name, std::string pattern, int count) {
    size_t at = rows.size();
    if (!each_layer_)
      at = of_key_.try_emplace(fmt::format("{}\n{}", pattern, fmt::join(cells, "\n")), at).first->second;
    if (at == rows.size()) rows.push_back({std::move(cells), std::move(name), std::move(pattern)});
    LayerRow& row = rows[at];
    row.count += count;
    if (++row.layers > 1) row.name = row.pattern;
  }

  std::vector<LayerRow> rows;

 private:
  bool each_layer_;
  std::map<std::string, size_t> of_key_;
};

// "layers/3/w1" -> "layers/*/w1": the number of the layer, and not that of an array within it.
std::string layer_pattern(const std::string& path) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const auto first = std::ranges::find_if(path, is_digit);
  return std::string(path.begin(), first) + (first == path.end() ? "" : "*") +
         std::string(std::find_if_not(first, path.end(), is_digit), path.end());
}

std::string mesh_line(const Plan& plan) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : plan.mesh.axes()) axes.push_back(fmt::format("{} [{}]", axis.name, axis.size));
  return fmt::format("Mesh: {} = {}\n", axes.empty() ? "no axes" : fmt::format("{}", fmt::join(axes, " x ")),
                     counted(plan.mesh.device_count(), "device")) +
         (hosts_text(plan).empty() ? "" : hosts_text(plan) + "\n");
}

std::string parameter_table(const Plan& plan, bool each_layer) {
  LayerRows rows(each_layer);
  for (const ParameterPlan& parameter : plan.parameters) {
    Shape local = local_shape(parameter.sharding, plan.mesh, parameter.shape);
    const std::string path = fmt::format("{}", fmt::join(parameter.path, "/"));
    rows.add({to_string(parameter.shape), parameter.named ? to_string(parameter.spec) : "replicated", to_string(local),
              bytes_text(static_cast<double>(element_count(local) * byte_size(parameter.dtype)))},
             path, layer_pattern(path), 1);
  }
  const bool has_layers = std::ranges::any_of(rows.rows, [](const LayerRow& row) { return row.layers > 1; });
  std::vector<TextTable::Column> columns = {
      {"Parameter"}, {"Shape"}, {"Spec"}, {"Per device"}, {"Bytes", Align::right}};
  if (has_layers) columns.push_back({"Layers", Align::right});
  TextTable table(columns);
  for (LayerRow& row : rows.rows) {
    row.cells.insert(row.cells.begin(), row.name);
    if (has_layers) row.cells.push_back(row.layers > 1 ? fmt::format("x {}", row.layers) : "");
    table.add_row(std::move(row.cells));
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
std::string first_cause(const std::string& cause, size_t arrays) {
  const size_t end = cause.find('\n');
  return end == std::string::npos ? cause : fmt::format("{}, and {} more", cause.substr(0, end), arrays - 1);
}

std::string collective_table(const Plan& plan, bool each_layer) {
  const bool has_hosts = plan.ranks_per_host.size() > 1;
  TextTable table({{"Collective"},
                   {"Axes"},
                   {has_hosts ? "Group/hosts" : "Group", Align::right},
                   {"Bytes", Align::right},
                   {"Sent", Align::right},
                   {"Phase"},
                   {"Cause"}});
  LayerRows rows(each_layer);
  const auto add = [&](int stage, int position, int count) {
    const Instruction& instruction = plan.instructions(stage)[position];
    if (!is_collective(instruction.kind()) && instruction.kind() != InstructionKind::send) return;
    std::vector<std::string> axes;
    for (AxisIndex axis : instruction.axes()) axes.push_back(plan.mesh.axes()[axis].name);
    if (instruction.kind() == InstructionKind::send) {
      axes = {fmt::format("stage {} to {}", stage, plan.program.channels[instruction.channel()].to)};
    } else if (plan.program.stages > 1) {
      axes.push_back(fmt::format("on stage {}", stage));
    }
    const bool is_send = instruction.kind() == InstructionKind::send;
    const std::string cause = is_send ? plan.instruction_name(instruction) : plan.cause(instruction);
    const size_t arrays = instruction.moved().size();
    rows.add({std::string(name(instruction.kind())), fmt::format("{}", fmt::join(axes, ",")),
              has_hosts ? fmt::format("{}/{}", instruction.group_size(), hosts_of_group(plan, instruction))
                        : std::to_string(instruction.group_size()),
              bytes_text(static_cast<double>(instruction.payload_bytes())), bytes_text(instruction.wire_bytes()),
              std::string(name(instruction.phase))},
             first_cause(cause, arrays), first_cause(pattern_of(cause), arrays), count);
  };
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) add(stage, position, count);
  }
  for (LayerRow& row : rows.rows) {
    if (row.count > 1) row.cells.back() += fmt::format(" x {}", row.count);
    row.cells.push_back(row.name);
    table.add_row(std::move(row.cells));
  }
  return table.empty() ? "No collectives\n" : table.text();
}

// How well devices of their own are used, and how far such predictions were from measurements.
std::string prediction_text(const Plan& plan) {
  if (plan.machine.device.kind != DeviceKind::own) return {};
  constexpr double billion = 1e9;
  const Utilisation use = utilisation(plan);
  std::string text = fmt::format("MFU {}, HFU {}", share_text(use.mfu()), share_text(use.hfu()));
  if (use.tokens > 0) {
    text += fmt::format("; tokens a second and device: {}; device hours for 10^9 tokens: {:.4g}",
                        count_text(use.tokens_per_second() / use.devices), use.device_hours(billion));
    if (const double price = plan.machine.price_per_device_hour; price > 0)
      text += fmt::format(", which cost {:.4g}", use.device_hours(billion) * price);
  }
  if (const std::vector<ExposedAxes> exposed = most_exposed_by_axes(plan); !exposed.empty())
    text += fmt::format("\nExposed communication: {}", to_string(exposed));
  const Evidence& evidence = plan.machine.evidence;
  if (const PredictedRange range = seconds_range(plan))
    text += fmt::format("\nBetween {} and {} by the mean error of {}, {}", seconds_text(range->first),
                        seconds_text(range->second), counted(evidence.measurements, "measurement"),
                        share_text(evidence.time_error));
  else text += "\nUnverified: " + unverified_text(plan.machine.name, plan.stack.name);
  if (const PredictedRange bytes = memory_range(plan))
    text += fmt::format("\nMemory between {} and {} by the mean error of {}, {}", bytes_text(bytes->first),
                        bytes_text(bytes->second), counted(evidence.memory_measurements, "measurement"),
                        share_text(evidence.memory_error));
  else if (evidence.measurements > 0) text += "\nMemory unverified: 0 of these measurements have it";
  return text + "\n";
}

}  // namespace

std::string plan_text(const Plan& plan, bool each_layer) {
  std::string text = mesh_line(plan) + "\n" + parameter_table(plan, each_layer) + "\n" + memory_table(plan) + "\n" +
                     collective_table(plan, each_layer) + "\n";
  if (const std::string pipeline = pipeline_text(plan); !pipeline.empty()) text += pipeline + "\n";
  text += fmt::format("At its peak {:.1f} % of the arena is unused\n", plan.totals.fragmentation() * 100);
  text += fmt::format("Each device sends {} and computes {} a step, about {}\n",
                      bytes_text(plan.totals.wire_bytes_per_device), flops_text(plan.totals.flops_per_device),
                      seconds_text(plan.totals.seconds_per_step));
  text += prediction_text(plan);
  const auto most_hidden =
      std::ranges::max_element(plan.simulation.communication, {}, &Simulation::Communication::hidden);
  if (most_hidden != plan.simulation.communication.end() && most_hidden->hidden > 0)
    text += fmt::format("Collectives: {} exposed, {} hidden behind computation\n", seconds_text(most_hidden->exposed),
                        seconds_text(most_hidden->hidden));
  if (!plan.bf16_products.empty()) text += fmt::format("bf16 matrix products: {}\n", plan.bf16_products);
  text += fmt::format("Plan {:016x}, made in {:.1f} ms\n", plan.hash, plan.planning_milliseconds);
  for (const Error& warning : plan.warnings) text += fmt::format("warning: {}\n", to_string(warning));
  for (const Finding& finding : certain_findings(plan))
    text += fmt::format("advice: {}\n", to_string(to_error(finding)));
  return text;
}

}  // namespace shardscope
