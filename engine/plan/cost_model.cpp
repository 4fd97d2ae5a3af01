#include "engine/plan/cost_model.h"

namespace shardscope {

namespace {

// Bytes of what is moved as the stack holds it, to those that it has here.
double moved_share(std::span<const int> moved, const Program& program, const StackTypes& types) {
  double here = 0, there = 0;
  for (int value : moved) {
    const ProgramValue& of = program.values[static_cast<size_t>(value)];
    const auto bytes = static_cast<double>(of.bytes());
    here += bytes;
    there += bytes * types.share(of.graph_value);
  }
  return here > 0 ? there / here : 1;
}

}  // namespace

double payload_as_held(const CollectiveStart& start, const Program& program, const WorkPrices& prices) {
  const auto payload = static_cast<double>(start.payload_bytes);
  if (!start.counted) return payload * moved_share(start.operands, program, prices.types());
  return payload * prices.types().exchanged_share(program.values[static_cast<size_t>(start.operands[0])].graph_value);
}

double instruction_seconds(const Instruction& instruction, const Program& program, const Graph& graph,
                           const WorkPrices& prices) {
  const auto as_held = [&](double bytes, std::span<const int> moved) {
    return bytes * moved_share(moved, program, prices.types());
  };
  if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
    return prices.collective(start->kind, payload_as_held(*start, program, prices), start->axes);
  }
  if (instruction.as<CollectiveDone>()) return 0;
  if (instruction.as<Slice>()) return prices.slice(as_held(instruction.bytes_touched(), instruction.operands()));
  if (instruction.channel() >= 0 && prices.stack().overlap.pipeline) return 0;
  if (instruction.as<Send>()) return prices.send(as_held(instruction.bytes_touched(), instruction.operands()));
  if (instruction.as<Receive>()) {
    const StageChannel& channel = program.channels[instruction.channel()];
    const double payload = as_held(static_cast<double>(instruction.payload_bytes()), instruction.results());
    return prices.receive(channel.from, channel.to, payload);
  }
  std::vector<TensorType> operands, results;
  local_types(program.values, instruction.operands(), operands);
  local_types(program.values, instruction.results(), results);
  return prices.compute(graph.ops[instruction.op], operands, results);
}

InstructionTable<double> predict_seconds(const Program& program, const Graph& graph, const WorkPrices& prices) {
  InstructionTable<double> seconds;
  for (const Task& task : program.tasks) {
    std::vector<double>& row = seconds.tasks.emplace_back();
    row.reserve(task.instructions.size());
    for (const Instruction& instruction : task.instructions)
      row.push_back(instruction_seconds(instruction, program, graph, prices));
  }
  return seconds;
}

}  // namespace shardscope
