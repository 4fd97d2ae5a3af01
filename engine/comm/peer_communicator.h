#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/collective_communicator.h"
#include "engine/comm/peer_table.h"

namespace shardscope {

// Ranks that can read each other's arrays in place. A collective publishes its sources, meets the others, copies or
// sums straight from the peers' arrays into its destinations, and meets again before the sources may change.
//
//   small call       copy sources to the control block . meet . take
//   other            publish . meet . take . meet
//   all-reduce       publish . meet . sum own chunk . meet . take the other chunks . meet
//
// Small: up to about 8 KiB of sources. Their arrays may lie anywhere; all others must be readable by peers. start
// copies or publishes and says that this member has come; what follows is done in finish.
class PeerCommunicator final : public CollectiveCommunicator {
 public:
  // The ranks of a run that form a group, in order; `member` is the caller's index. `group` is made by the region.
  PeerCommunicator(std::shared_ptr<ControlRegion> region, std::shared_ptr<const PeerMemory> memory, uint64_t group,
                   std::vector<int> world_ranks, int member);

  int rank() const override { return member_; }
  int size() const override { return table_.size(); }
  std::unique_ptr<Communicator> split(int color, int key) override;
  void progress() override;
  void abort() noexcept override;

 protected:
  int world_rank() const override { return table_.world_rank(); }
  void begin(Operation& operation) override;
  void complete(Operation& operation) override;
  std::vector<std::unique_ptr<Channel>> make_channels(std::span<const ChannelEnds> ends) override;

 private:
  static size_t slot(const Operation& operation) { return PeerTable::slot(operation.number); }
  void copy_to_payload(Operation& operation);
  void publish(const Operation& operation, size_t first);
  void meet(Operation& operation);
  void take_small(Operation& operation);
  void take(Operation& operation, size_t first, size_t last);
  void take_pieces(Operation& operation, const CallPart& part);
  void reduce_chunk(Operation& operation, size_t index);
  void take_chunks(Operation& operation, size_t index, size_t entry);

  PeerTable table_;
  int member_;
  std::vector<const std::byte*> sources_;  // of each member, for the part under way
};

}  // namespace shardscope
