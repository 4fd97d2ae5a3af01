#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/collective_call.h"
#include "engine/comm/control_region.h"
#include "engine/comm/rendezvous.h"

namespace shardscope {

// Turns an address of one rank into one that another rank can read.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  // What a rank publishes for its own array of `bytes` bytes; throws Failure comm_argument where peers cannot read it.
  virtual uint64_t publish(const std::byte* array, int64_t bytes) const = 0;
  // Where the caller reads what `rank` (of the run) published.
  virtual const std::byte* find(int rank, uint64_t published) const = 0;
};

// Where the members of a group that share memory show each other their arrays, and meet, in the slot of a call (see
// GroupBlock). What a member published before it arrived, all find after they awaited.
class PeerTable {
 public:
  // The ranks of a run that form the group, in order; `member` is the caller's index. `group` is made by the region.
  PeerTable(std::shared_ptr<ControlRegion> region, std::shared_ptr<const PeerMemory> memory, uint64_t group,
            std::vector<int> world_ranks, int member);
  ~PeerTable();  // says that this member has left the group
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  int size() const { return static_cast<int>(world_ranks_.size()); }
  int world_rank(int member) const { return world_ranks_[static_cast<size_t>(member)]; }
  int world_rank() const { return world_rank(member_); }
  const std::shared_ptr<ControlRegion>& region() const { return region_; }
  const std::shared_ptr<const PeerMemory>& memory() const { return memory_; }
  // The slot of the group's n-th call.
  static size_t slot(uint64_t number) { return number % GroupBlock::slot_count; }

  void arrive(size_t slot) { rendezvous_.arrive(slot); }
  bool has_met(size_t slot) { return rendezvous_.has_met(slot); }
  int64_t await(size_t slot);  // nanoseconds that this member slept
  int64_t meet(size_t slot);

  // A small call's sources are in the payload, each part's behind what the parts before take of it.
  static int64_t payload_step(const CallPart& part) { return (part.source_bytes + 15) / 16 * 16; }
  static bool is_small(const CollectiveCall& call);
  std::byte* payload(int member, size_t slot) const { return group_.slot(member, slot).payload.data(); }
  std::byte* payload(size_t slot) const { return payload(member_, slot); }

  // Of other calls. Each throws Failure comm_argument; check is for arrays that will be published.
  void check(const std::byte* array, int64_t bytes) const { memory_->publish(array, bytes); }
  void publish(size_t slot, size_t entry, const std::byte* array, int64_t bytes);
  const std::byte* find(int member, size_t slot, size_t entry) const;

  // Says which call this member makes; and throws Failure comm_argument, naming both calls, where another member makes
  // a different one.
  void sign(size_t slot, const CollectiveCall& call);
  void check_signatures(size_t slot, const CollectiveCall& call) const;

 private:
  std::shared_ptr<ControlRegion> region_;
  std::shared_ptr<const PeerMemory> memory_;
  std::vector<int> world_ranks_;
  int member_;
  GroupBlock& group_;
  Rendezvous rendezvous_;
};

}  // namespace shardscope
