#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/collective_call.h"
#include "engine/comm/communicator.h"

namespace shardscope {

// What all implementations share: arguments are checked, bytes counted and tickets kept here; an implementation sees
// checked calls. begin() and complete() alternate, with the same call.
class CollectiveCommunicator : public Communicator {
 public:
  Ticket start_all_gather(std::span<const CollectivePart> parts) override;
  Ticket start_all_reduce(std::span<const CollectivePart> parts) override;
  Ticket start_reduce_scatter(std::span<const CollectivePart> parts) override;
  Ticket start_all_to_all(std::span<const CollectivePart> parts) override;
  Ticket start_permute(std::span<const CollectivePart> parts, std::span<const int> destination_of) override;
  // Throws Failure comm_argument when `ticket` is not the open one.
  void finish(Ticket ticket) override;
  void barrier() override;
  // Throws Failure comm_argument for an end that is no member, for a channel from a rank to itself, and where another
  // member passes another list.
  std::vector<std::unique_ptr<Channel>> open_channels(std::span<const ChannelEnds> ends) final;

 protected:
  // The rank in the whole run, by which messages name this one.
  virtual int world_rank() const { return rank(); }
  virtual void begin(const CollectiveCall& call) = 0;
  virtual void complete(const CollectiveCall& call) = 0;
  // open_channels() of a checked list.
  virtual std::vector<std::unique_ptr<Channel>> make_channels(std::span<const ChannelEnds> ends) = 0;

  // Adds to moved_bytes() what a copy or a sum read, or a send handed to MPI.
  void count_moved(int64_t bytes) const { *counts_.moved_bytes += bytes; }

  // all_gather of `bytes` (a multiple of 4) of each member, for the communicators' own needs: not counted. `all` has
  // size() times as many.
  void exchange(const void* own, void* all, int64_t bytes);

  // Throws Failure comm_argument that names this rank.
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

 private:
  Ticket start(InstructionKind kind, std::span<const CollectivePart> parts, std::span<const int> destination_of);

  CollectiveCall call_;
  Ticket ticket_ = 0;
  bool open_ = false;
};

}  // namespace shardscope
