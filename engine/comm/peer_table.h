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

// Where the members of a group that share memory show each other their arrays, and meet. What a member published before
// it arrived, all find after they awaited.
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
  MemberBlock& block(int member) const { return group_.member(member); }
  MemberBlock& block() const { return block(member_); }

  void arrive() { rendezvous_.arrive(); }
  int64_t await();  // nanoseconds that this member slept
  int64_t meet();

  // Each throws Failure comm_argument; check is for arrays that will be published.
  void check(const std::byte* array, int64_t bytes) const { memory_->publish(array, bytes); }
  void publish(size_t entry, const std::byte* array, int64_t bytes);
  const std::byte* find(int member, size_t entry) const;

  // Says which call this member makes, in turns of two; and throws Failure comm_argument, naming both calls, where
  // another member makes a different one.
  void sign(const CollectiveCall& call, size_t parity);
  void check_signatures(const CollectiveCall& call, size_t parity) const;

 private:
  std::shared_ptr<ControlRegion> region_;
  std::shared_ptr<const PeerMemory> memory_;
  std::vector<int> world_ranks_;
  int member_;
  GroupBlock& group_;
  Rendezvous rendezvous_;
};

}  // namespace shardscope
