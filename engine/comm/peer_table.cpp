#include "engine/comm/peer_table.h"

#include <chrono>
#include <string>

#include "engine/base/error.h"

namespace shardscope {

PeerTable::PeerTable(std::shared_ptr<ControlRegion> region, std::shared_ptr<const PeerMemory> memory, uint64_t group,
                     std::vector<int> world_ranks, int member)
    : region_(std::move(region)),
      memory_(std::move(memory)),
      world_ranks_(std::move(world_ranks)),
      member_(member),
      group_(region_->group(group)),
      rendezvous_(*region_, group_, world_ranks_, member) {}

PeerTable::~PeerTable() { group_.member(member_).left.store(1, std::memory_order_release); }

int64_t PeerTable::await(size_t slot) {
  const auto start = std::chrono::steady_clock::now();
  rendezvous_.await(slot);
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

int64_t PeerTable::meet(size_t slot) {
  arrive(slot);
  return await(slot);
}

bool PeerTable::is_small(const CollectiveCall& call) {
  int64_t bytes = 0;
  for (const CallPart& part : call.parts) bytes += payload_step(part);
  return bytes <= MemberSlot::payload_bytes;
}

void PeerTable::publish(size_t slot, size_t entry, const std::byte* array, int64_t bytes) {
  group_.slot(member_, slot).entries[entry] = memory_->publish(array, bytes);
}

const std::byte* PeerTable::find(int member, size_t slot, size_t entry) const {
  return memory_->find(world_rank(member), group_.slot(member, slot).entries[entry]);
}

void PeerTable::sign(size_t slot, const CollectiveCall& call) {
  group_.slot(member_, slot).call = {call.signature, call.parts.size(), static_cast<uint32_t>(call.kind)};
}

void PeerTable::check_signatures(size_t slot, const CollectiveCall& call) const {
  for (int other = 0; other < size(); ++other) {
    const MemberSlot::Call& theirs = group_.slot(other, slot).call;
    if (theirs.signature == call.signature) continue;
    throw Failure(Error{"comm_argument",
                        "this rank called " + std::string(name(call.kind)) + " (" + std::to_string(call.parts.size()) +
                            " parts) where rank " + std::to_string(world_rank(other)) + " called " +
                            std::string(name(static_cast<CallKind>(theirs.kind))) + " (" +
                            std::to_string(theirs.part_count) + " parts), or their shapes differ",
                        on_rank(world_rank()), "every member of a group makes the same calls in the same order"});
  }
}

}  // namespace shardscope
