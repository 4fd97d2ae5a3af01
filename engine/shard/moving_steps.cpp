#include "engine/shard/moving_steps.h"

namespace shardscope {

Step reshard_step(const ReshardStep& part, const std::vector<ProgramValue>& values, const Mesh& mesh,
                  const Cause& cause, int source, int made) {
  const ProgramValue &from = values[source], &to = values[made];
  Step step;
  step.kind = part.kind;
  step.op = cause.user;
  step.inputs = {source};
  step.outputs = {made};
  step.axes = part.axes;
  step.group_size = group_size(part.axes, mesh);
  step.moved = {{part.split_dim, part.concat_dim, cause}};
  step.reduction = part.reduction;
  step.dtype = from.dtype;
  double payload = 0;
  step.wire_bytes = wire_bytes(part, from.sharding, mesh, {from.shape, from.dtype}, &payload);
  step.payload_bytes = static_cast<int64_t>(payload);
  const int64_t read = part.kind == StepKind::slice ? to.bytes() : from.bytes();
  step.bytes_touched = static_cast<double>(read + to.bytes());
  return step;
}

TransferSteps transfer_steps(const std::vector<ProgramValue>& values, const Graph& graph, const std::vector<int>& held,
                             const std::vector<int>& received) {
  Step send, receive;
  send.kind = StepKind::send;
  receive.kind = StepKind::receive;
  send.inputs = held;
  receive.outputs = received;
  send.op = receive.op = graph.values[values[held.front()].graph_value].producer;
  for (int value : held) send.payload_bytes += values[value].bytes();
  receive.payload_bytes = send.payload_bytes;
  send.wire_bytes = static_cast<double>(send.payload_bytes);
  send.bytes_touched = receive.bytes_touched = 2.0 * static_cast<double>(send.payload_bytes);
  return {std::move(send), std::move(receive)};
}

}  // namespace shardscope
