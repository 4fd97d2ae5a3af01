#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/collective_communicator.h"
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

// Ranks that can read each other's arrays in place. A collective publishes its sources, meets the others, copies or
// sums straight from the peers' arrays into its destinations, and meets again before the sources may change.
//
//   small call       copy sources to the control block . meet . take
//   other            publish . meet . take . meet
//   all-reduce       publish . meet . sum own chunk . meet . take the other chunks . meet
//
// Small: up to about 8 KiB of sources. Their arrays may lie anywhere; all others must be readable by peers.
class PeerCommunicator final : public CollectiveCommunicator {
 public:
  // The ranks of a run that form a group, in order; `member` is the caller's index. `group` is made by the region.
  PeerCommunicator(std::shared_ptr<ControlRegion> region, std::shared_ptr<const PeerMemory> memory, uint64_t group,
                   std::vector<int> world_ranks, int member);
  ~PeerCommunicator() override;
  PeerCommunicator(const PeerCommunicator&) = delete;
  PeerCommunicator& operator=(const PeerCommunicator&) = delete;

  int rank() const override { return member_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  std::unique_ptr<Communicator> split(int color, int key) override;
  void abort() noexcept override;

 protected:
  int world_rank() const override { return world_ranks_[static_cast<size_t>(member_)]; }
  void begin(const CollectiveCall& call) override;
  void complete(const CollectiveCall& call) override;

 private:
  bool is_small(const CollectiveCall& call) const;
  void sign(const CollectiveCall& call);
  void check_signatures(const CollectiveCall& call) const;
  void copy_to_payload(const CollectiveCall& call);
  void publish(const CollectiveCall& call, size_t first);
  void meet();
  void await_peers();
  void take_small(const CollectiveCall& call);
  void take(const CollectiveCall& call, size_t first, size_t last);
  void take_pieces(const CollectiveCall& call, const CallPart& part);
  void reduce_chunk(const CollectiveCall& call, size_t index);
  void take_chunks(const CollectiveCall& call, size_t index, size_t entry);
  const std::byte* find(int member, size_t entry) const;

  std::shared_ptr<ControlRegion> region_;
  std::shared_ptr<const PeerMemory> memory_;
  std::vector<int> world_ranks_;
  int member_;
  GroupBlock& group_;
  Rendezvous rendezvous_;
  size_t parity_ = 0;                      // of the call under way
  std::vector<const std::byte*> sources_;  // of each member, for the part under way
};

}  // namespace shardscope
