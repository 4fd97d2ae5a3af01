#include "engine/program/program_text.h"

#include <fmt/format.h>

namespace shardscope {

std::string ProgramText::value(int id) const {
  const ProgramValue& lies = program.values[id];
  std::string text = lies.graph_value == no_id ? fmt::format("value {}", id) : graph.values[lies.graph_value].name;
  return lies.moved ? text + " " + to_string(lies.sharding, mesh) : text;
}

std::string ProgramText::step(const Step& step) const {
  if (step.kind == StepKind::compute) return step.op == no_id ? std::string(name(step.kind)) : graph.ops[step.op].name;
  std::string axes;
  for (AxisIndex axis : step.axes) axes += (axes.empty() ? "" : ",") + mesh.axes()[axis].name;
  std::string what = fmt::format("{} arrays", step.inputs.size());
  if (step.inputs.size() == 1) {
    ValueId array = program.values[step.inputs[0]].graph_value;
    what = array == no_id ? value(step.inputs[0]) : graph.values[array].name;
  }
  return fmt::format("{} over {} of {}", name(step.kind), axes, what);
}

std::string ProgramText::cause(const Step& step) const {
  std::string text;
  for (const MovedArray& array : step.moved) {
    const auto& [user, from, to] = array.cause;
    if (user == no_id || from < 0 || to < 0) continue;
    const ProgramValue &source = program.values[from], &target = program.values[to];
    text += fmt::format("{}{} uses {} as {}; it is defined as {}", text.empty() ? "" : "\n", graph.ops[user].name,
                        graph.values[source.graph_value].name, to_string(target.sharding, mesh),
                        to_string(source.sharding, mesh));
  }
  return text;
}

std::string ProgramText::buffer(const Buffer& buffer) const {
  if (buffer.value >= 0) return value(buffer.value);
  return "workspace of " + step(program.main_steps()[unfolded(program.main(), buffer.first)]);
}

}  // namespace shardscope
