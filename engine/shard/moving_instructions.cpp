#include "engine/shard/moving_instructions.h"

namespace shardscope {

Instruction reshard_instruction(const ReshardStep& part, const std::vector<ProgramValue>& values, const Mesh& mesh,
                                const Cause& cause, int source, int made) {
  const ProgramValue &from = values[source], &to = values[made];
  const MovedArray moved{part.split_dim, part.concat_dim, cause};
  Instruction instruction;
  instruction.op = cause.user;
  if (part.kind == InstructionKind::slice) {
    instruction.body = Slice{{source}, {made}, {moved}, part.axes, 2 * static_cast<double>(to.bytes())};
    return instruction;
  }
  CollectiveStart collective{part.kind,      {source},  {made}, {moved}, part.axes, group_size(part.axes, mesh),
                             part.reduction, from.dtype};
  double payload = 0;
  collective.wire_bytes = wire_bytes(part, from.sharding, mesh, {from.shape, from.dtype}, &payload);
  collective.payload_bytes = static_cast<int64_t>(payload);
  collective.bytes_touched = static_cast<double>(from.bytes() + to.bytes());
  instruction.body = std::move(collective);
  return instruction;
}

Instruction ring_instruction(Phase phase, OpId op, const std::vector<ProgramValue>& values, const Mesh& mesh,
                             int operand, int result, RingMove move) {
  const MovedArray moved{-1, -1, {op, operand, result}};
  CollectiveStart permute{InstructionKind::collective_permute, {operand}, {result}, {moved}, move.axes,
                          group_size(move.axes, mesh)};
  permute.dtype = values[operand].dtype;
  permute.payload_bytes = values[operand].bytes();
  permute.wire_bytes = static_cast<double>(permute.payload_bytes);
  permute.bytes_touched = 2 * static_cast<double>(permute.payload_bytes);
  permute.shift = move.shift;
  permute.receivers = std::move(move.receivers);
  return {phase, op, std::move(permute)};
}

TransferInstructions transfer_instructions(const std::vector<ProgramValue>& values, const Graph& graph,
                                           const std::vector<int>& held, const std::vector<int>& received,
                                           int channel) {
  int64_t payload = 0;
  for (int value : held) payload += values[value].bytes();
  Instruction send, receive;
  send.op = receive.op = graph.values[values[held.front()].graph_value].producer;
  send.body = Send{held, channel, payload};
  receive.body = Receive{received, channel, payload};
  return {std::move(send), std::move(receive)};
}

}  // namespace shardscope
