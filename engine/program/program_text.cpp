#include "engine/program/program_text.h"

#include <fmt/format.h>

#include "engine/base/plural.h"

namespace shardscope {

std::string ProgramText::value(int id) const {
  const ProgramValue& value = program.values[id];
  std::string text = value.graph_value == no_id ? fmt::format("value {}", id) : graph.values[value.graph_value].name;
  return value.moved ? text + " " + to_string(value.sharding, mesh) : text;
}

std::string ProgramText::instruction(const Instruction& instruction) const {
  if (instruction.as<Compute>())
    return instruction.op == no_id ? std::string(name(instruction.kind())) : graph.ops[instruction.op].name;
  std::string axes;
  for (AxisIndex axis : instruction.axes()) axes += (axes.empty() ? "" : ",") + mesh.axes()[axis].name;
  const std::span<const int> arrays = instruction.operands().empty() ? instruction.results() : instruction.operands();
  std::string what = counted(std::ssize(arrays), "array");
  if (arrays.size() == 1) {
    ValueId array = program.values[arrays[0]].graph_value;
    what = array == no_id ? value(arrays[0]) : graph.values[array].name;
  }
  if (is_transfer(instruction.kind())) {
    const StageChannel& channel = program.channels[instruction.channel()];
    const bool sends = instruction.as<Send>();
    return fmt::format("{} stage {} of {}", sends ? "send to" : "receive from", sends ? channel.to : channel.from,
                       what);
  }
  if (instruction.as<CollectiveDone>()) return fmt::format("{} of {}, done", name(instruction.operation()), what);
  return fmt::format("{} over {} of {}", name(instruction.kind()), axes, what);
}

std::string ProgramText::cause(const Instruction& instruction) const {
  std::string text;
  for (const MovedArray& array : instruction.moved()) {
    const auto& [user, from, to] = array.cause;
    if (user == no_id || from < 0 || to < 0) continue;
    const ProgramValue &source = program.values[from], &target = program.values[to];
    const Value& value = graph.values[source.graph_value];
    const std::string made = to_string(source.sharding, mesh), wanted = to_string(target.sharding, mesh);
    if (!text.empty()) text += '\n';
    if (value.producer != user) {
      text += fmt::format("{} uses {} as {}; it is defined as {}", graph.ops[user].name, value.name, wanted, made);
      continue;
    }
    const size_t id = static_cast<size_t>(source.graph_value);
    const bool is_pinned = id < pins.size() && !pins[id].empty();
    text += is_pinned ? fmt::format("{} wants {} as {}", pins[id], value.name, wanted)
                      : fmt::format("{} is wanted as {}", value.name, wanted);
    text += fmt::format("; {} makes it as {}", graph.ops[user].name, made);
  }
  const CollectiveStart* start = instruction.as<CollectiveStart>();
  if (start && start->counted) {
    text +=
        "; only rows that hold something move: bytes are the most there may be, the predicted time is of those that "
        "are expected";
  }
  return text;
}

std::string ProgramText::buffer(const Buffer& buffer, int stage) const {
  if (buffer.value >= 0) return value(buffer.value);
  return "workspace of " + instruction(program.main_instructions(stage)[unfolded(program.main(stage), buffer.first)]);
}

}  // namespace shardscope
