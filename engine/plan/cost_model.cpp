#include "engine/plan/cost_model.h"

namespace shardscope {

double instruction_seconds(const Instruction& instruction, const Program& program, const Graph& graph,
                           const WorkPrices& prices) {
  if (const CollectiveStart* start = instruction.as<CollectiveStart>())
    return prices.collective(start->kind, static_cast<double>(start->payload_bytes), start->axes);
  if (instruction.as<CollectiveDone>()) return 0;
  if (instruction.as<Slice>()) return prices.slice(instruction.bytes_touched());
  if (instruction.as<Send>()) return prices.send(instruction.bytes_touched());
  if (instruction.as<Receive>()) {
    const StageChannel& channel = program.channels[instruction.channel()];
    return prices.receive(channel.from, channel.to, static_cast<double>(instruction.payload_bytes()));
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
