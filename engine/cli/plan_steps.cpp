#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "engine/base/units.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/text_table.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

std::string join(const std::vector<std::string>& texts, const char* separator) {
  return fmt::format("{}", fmt::join(texts, separator));
}

class Notation {
 public:
  explicit Notation(const Plan& plan) : plan_(plan), graph_(*plan.graph), mesh_(plan.mesh) {}

  // "Out[B, D_Y] {U_X}".
  std::string array(int program_value) const {
    const ProgramValue& value = plan_.program.values[program_value];
    const std::vector<std::string> names = dimensions(value.graph_value);
    std::vector<std::string> dims;
    for (int d = 0; d < value.sharding.rank; ++d) {
      const AxisList& axes = value.sharding.dims[d];
      dims.push_back(names[d] + (axes.empty() ? "" : "_" + this->axes({axes.begin(), axes.end()})));
    }
    std::vector<AxisIndex> partial;
    for (AxisIndex axis = 0; axis < mesh_.axis_count(); ++axis) {
      if ((value.sharding.partial >> axis) & 1) partial.push_back(axis);
    }
    return fmt::format("{}[{}]{}", name(value.graph_value), join(dims, ", "),
                       partial.empty() ? "" : fmt::format(" {{U_{}}}", axes(partial)));
  }

  std::string line(const Instruction& instruction) const {
    std::vector<std::string> results, operands;
    for (int value : instruction.destinations()) results.push_back(array(value));
    for (int value : instruction.operands()) operands.push_back(array(value));
    if (instruction.kind() != InstructionKind::compute) {
      constexpr std::string_view names[] = {"",          "Slice",     "Send",          "Receive",  "",
                                            "AllGather", "AllReduce", "ReduceScatter", "AllToAll", "Permute"};
      return fmt::format("{}{}{}({})", join(results, ", "), results.empty() ? "" : " = ",
                         names[static_cast<int>(instruction.kind())], join(operands, ", "));
    }
    const OpDefinition& definition = *graph_.ops[instruction.op].definition;
    if (definition.name() == "einsum") {
      return fmt::format("{} = {} *_{} {}", results[0], operands[0], contracted(instruction.op), operands[1]);
    }
    return fmt::format("{} = {}({})", join(results, ", "), definition.name(), join(operands, ", "));
  }

 private:
  std::string name(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.cotangent_of != no_id) return "d" + name(value.cotangent_of);
    return value.name.starts_with("params/") ? value.name.substr(7) : value.name;
  }

  // Names of axes that are letters stand together, as in D_XY.
  std::string axes(const std::vector<AxisIndex>& list) const {
    std::vector<std::string> names;
    for (AxisIndex axis : list) names.push_back(mesh_.axes()[axis].name);
    const bool letters = std::ranges::all_of(names, [](const std::string& one) { return one.size() == 1; });
    return letters ? join(names, "") : names.size() == 1 ? names[0] : "(" + join(names, ",") + ")";
  }

  std::vector<std::string> dimensions(ValueId id) const {
    const Value& value = graph_.values[id];
    std::vector<std::string> names = value.logical;
    if (names.empty() && value.cotangent_of != no_id) return dimensions(value.cotangent_of);
    names.resize(value.type.shape.size());
    for (size_t d = 0; d < names.size(); ++d) {
      if (names[d].empty()) names[d] = letters(id, d);
    }
    return names;
  }

  // By the op that makes the array; of what comes from outside the alphabet's.
  std::string letters(ValueId id, size_t dim) const {
    const Value& value = graph_.values[id];
    if (value.producer == no_id) return std::string(1, static_cast<char>('A' + dim));
    const FactorRule& rule = graph_.rule(value.producer);
    std::string text;
    for (int factor : rule.results[value.result_index][dim]) {
      text += static_cast<char>(std::toupper(static_cast<unsigned char>(rule.factors[factor].label)));
    }
    return text;
  }

  // The dimensions of an einsum's first operand that its result lacks.
  std::string contracted(OpId op) const {
    const FactorRule& rule = graph_.rule(op);
    const std::vector<std::string> names = dimensions(graph_.ops[op].inputs[0]);
    std::vector<std::string> missing;
    for (size_t d = 0; d < names.size(); ++d) {
      const auto& kept = rule.results[0];
      if (std::ranges::find(kept, rule.operands[0][d]) == kept.end()) missing.push_back(names[d]);
    }
    return missing.size() == 1 ? missing[0] : "(" + join(missing, ",") + ")";
  }

  const Plan& plan_;
  const Graph& graph_;
  const Mesh& mesh_;
};

std::string phase_text(const Plan& plan, int stage, Phase phase) {
  const Notation notation(plan);
  TextTable table({{"", TextTable::Align::right},
                   {std::string(name(phase))},
                   {"Bytes", TextTable::Align::right},
                   {"Sent", TextTable::Align::right}});
  std::map<int, std::pair<int, const Instruction*>> gathered;  // by what it gives: a forward gather's number
  int number = 0, forward_number = 0;
  for (const RepeatedInstruction& repeated : distinct_instructions(plan.program.main(stage))) {
    const Instruction& instruction = plan.instructions(stage)[repeated.position];
    if (instruction.as<CollectiveDone>()) continue;
    if (instruction.phase == Phase::forward && instruction.kind() == InstructionKind::all_gather) {
      for (int value : instruction.destinations()) gathered[value] = {forward_number + 1, &instruction};
    }
    forward_number += instruction.phase == Phase::forward;
    if (task_phase(instruction.phase) != phase) continue;
    for (int value : instruction.operands()) {
      const auto shared = gathered.find(value);
      if (phase == Phase::forward || shared == gathered.end()) continue;
      table.add_row({fmt::format("{}.", ++number), notation.line(*shared->second.second),
                     fmt::format("shared with forward {}", shared->second.first), "0 B"});
      gathered.erase(shared);
    }
    const bool moves = is_collective(instruction.kind());
    table.add_row({fmt::format("{}.", ++number), notation.line(instruction),
                   moves ? bytes_text(static_cast<double>(instruction.payload_bytes())) : "",
                   moves ? bytes_text(instruction.wire_bytes()) : ""});
  }
  return table.empty() ? "" : table.text();
}

}  // namespace

std::string plan_steps_text(const Plan& plan) {
  std::string text;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    if (plan.program.stages > 1) text += fmt::format("{}Stage {}\n", stage == 0 ? "" : "\n", stage);
    const std::string backward = phase_text(plan, stage, Phase::backward);
    text += phase_text(plan, stage, Phase::forward) + (backward.empty() ? "" : "\n") + backward;
  }
  return text;
}

}  // namespace shardscope
