#include "engine/comm/collective_communicator.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/hash.h"

namespace shardscope {

Communicator::Ticket CollectiveCommunicator::start(InstructionKind kind, std::span<const CollectivePart> parts,
                                                   std::span<const int> destination_of) {
  if (open_) fail(std::string(name(kind)) + " was started before the last collective was finished");
  call_.assign(kind, parts, destination_of, world_rank(), size());
  begin(call_);
  open_ = true;
  return ++ticket_;
}

Communicator::Ticket CollectiveCommunicator::start_all_gather(std::span<const CollectivePart> parts) {
  return start(InstructionKind::all_gather, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_all_reduce(std::span<const CollectivePart> parts) {
  return start(InstructionKind::all_reduce, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_reduce_scatter(std::span<const CollectivePart> parts) {
  return start(InstructionKind::reduce_scatter, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_all_to_all(std::span<const CollectivePart> parts) {
  return start(InstructionKind::all_to_all, parts, {});
}

Communicator::Ticket CollectiveCommunicator::start_permute(std::span<const CollectivePart> parts,
                                                           std::span<const int> destination_of) {
  return start(InstructionKind::collective_permute, parts, destination_of);
}

void CollectiveCommunicator::finish(Ticket ticket) {
  if (!open_ || ticket != ticket_) fail("finish of a collective that is not open");
  open_ = false;
  complete(call_);
  *counts_.wire_bytes += call_.wire_bytes(size());
}

void CollectiveCommunicator::barrier() {
  Ticket ticket = start(InstructionKind::barrier, {}, {});
  finish(ticket);
}

std::vector<std::unique_ptr<Channel>> CollectiveCommunicator::open_channels(std::span<const ChannelEnds> ends) {
  Hasher hasher;
  hasher.add(ends.size());
  for (const auto [from, to] : ends) {
    if (std::min(from, to) < 0 || std::max(from, to) >= size() || from == to) {
      fail(fmt::format("a channel from rank {} to rank {} of a group of {}", from, to, size()), "two of its ranks");
    }
    hasher.add(from).add(to);
  }
  const uint64_t own = hasher.digest();
  std::vector<uint64_t> all(static_cast<size_t>(size()));
  exchange(&own, all.data(), sizeof(own));
  const auto other = std::ranges::find_if(all, [&](uint64_t digest) { return digest != own; });
  if (other != all.end()) {
    fail(fmt::format("this rank opens other channels than rank {} of its group", other - all.begin()),
         "all members pass the same list");
  }
  return make_channels(ends);
}

void CollectiveCommunicator::exchange(const void* own, void* all, int64_t bytes) {
  CollectivePart part{own, all, {bytes / byte_size(DType::i32)}, DType::i32, -1, 0};
  const double counted = *counts_.wire_bytes;
  const int64_t moved = *counts_.moved_bytes;
  all_gather({&part, 1});
  *counts_.wire_bytes = counted;
  *counts_.moved_bytes = moved;
}

void CollectiveCommunicator::fail(std::string message, std::string hint) const {
  throw Failure(Error{"comm_argument", std::move(message), on_rank(world_rank()), std::move(hint)});
}

}  // namespace shardscope
