#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/collective_operation.h"
#include "engine/comm/communicator.h"

namespace shardscope {

// What all implementations share: arguments are checked, tickets kept in order and costs recorded here; an
// implementation sees checked operations.
class CollectiveCommunicator : public Communicator {
 public:
  Ticket start_all_gather(std::span<const CollectivePart> parts) override;
  Ticket start_all_reduce(std::span<const CollectivePart> parts) override;
  Ticket start_reduce_scatter(std::span<const CollectivePart> parts) override;
  Ticket start_all_to_all(std::span<const CollectivePart> parts) override;
  Ticket start_permute(std::span<const CollectivePart> parts, std::span<const int> destination_of) override;
  CommunicationRecord finish(Ticket ticket) override;
  CommunicationRecord barrier() override;
  // Throws Failure comm_argument for an end that is no member, for a channel from a rank to itself, and where another
  // member passes another list.
  std::vector<std::unique_ptr<Channel>> open_channels(std::span<const ChannelEnds> ends) final;

 protected:
  using Operation = CollectiveOperation;

  // The rank in the whole run, by which messages name this one.
  virtual int world_rank() const { return rank(); }
  virtual std::unique_ptr<Operation> make_operation() { return std::make_unique<Operation>(); }
  // begin() does not wait for peers. Operations are completed in the order in which they began, each once. The time
  // spent in both, but for what they add to waited_ns, is added to transfer_ns.
  virtual void begin(Operation& operation) = 0;
  virtual void complete(Operation& operation) = 0;
  // open_channels() of a checked list.
  virtual std::vector<std::unique_ptr<Channel>> make_channels(std::span<const ChannelEnds> ends) = 0;

  // all_gather of `bytes` (a multiple of 4) of each member, for the communicators' own needs: in no record. `all` has
  // size() times as many.
  void exchange(const void* own, void* all, int64_t bytes);

  // Throws Failure comm_argument where a ticket is open.
  void check_none_open(std::string_view what) const;
  // Throws Failure comm_argument that names this rank.
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

 private:
  Ticket start(CallKind kind, std::span<const CollectivePart> parts, std::span<const int> destination_of);
  CommunicationRecord finish_oldest();

  std::vector<std::unique_ptr<Operation>> open_, idle_;  // open: in the order of start
  uint64_t next_number_ = 0;
};

}  // namespace shardscope
