#include "engine/comm/collective_communicator.h"

namespace shardscope {

Communicator::Ticket CollectiveCommunicator::start(StepKind kind, std::span<const CollectivePart> parts,
                                                   std::span<const int> destination_of) {
  if (open_) fail(std::string(name(kind)) + " was started before the last collective was finished");
  call_.assign(kind, parts, destination_of, world_rank(), size());
  begin(call_);
  open_ = true;
  return ++ticket_;
}

Communicator::Ticket CollectiveCommunicator::start_all_gather(std::span<const CollectivePart> parts) {
  return start(StepKind::all_gather, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_all_reduce(std::span<const CollectivePart> parts) {
  return start(StepKind::all_reduce, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_reduce_scatter(std::span<const CollectivePart> parts) {
  return start(StepKind::reduce_scatter, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_all_to_all(std::span<const CollectivePart> parts) {
  return start(StepKind::all_to_all, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_permute(std::span<const CollectivePart> parts,
                                                           std::span<const int> destination_of) {
  return start(StepKind::collective_permute, parts, destination_of);
}

void CollectiveCommunicator::finish(Ticket ticket) {
  if (!open_ || ticket != ticket_) fail("finish of a collective that is not open");
  open_ = false;
  complete(call_);
  *wire_bytes_ += call_.wire_bytes(size());
}

void CollectiveCommunicator::barrier() {
  Ticket ticket = start(StepKind::barrier, {}, {});
  finish(ticket);
}

void CollectiveCommunicator::exchange(const void* own, void* all, int64_t bytes) {
  CollectivePart part{own, all, {bytes / byte_size(DType::i32)}, DType::i32, -1, 0};
  double counted = *wire_bytes_;
  all_gather({&part, 1});
  *wire_bytes_ = counted;
}

void CollectiveCommunicator::fail(std::string message, std::string hint) const {
  throw Failure(Error{"comm_argument", std::move(message), on_rank(world_rank()), std::move(hint)});
}

}  // namespace shardscope
