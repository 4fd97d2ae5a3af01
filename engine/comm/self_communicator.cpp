#include "engine/comm/self_communicator.h"

#include <atomic>

#include "engine/comm/block_copy.h"
#include "engine/comm/collective_communicator.h"

namespace shardscope {

namespace {

class SelfCommunicator final : public CollectiveCommunicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  std::unique_ptr<Communicator> split(int, int) override {
    check_none_open("a split");
    check_aborted();
    auto child = std::make_unique<SelfCommunicator>();
    child->aborted_ = aborted_;
    share_totals(*child);
    return child;
  }

  void abort() noexcept override { *aborted_ = true; }

 protected:
  std::vector<std::unique_ptr<Channel>> make_channels(std::span<const ChannelEnds>) override { return {}; }

  void begin(Operation&) override { check_aborted(); }

  void complete(Operation& operation) override {
    check_aborted();
    for (const CallPart& part : operation.call.parts) {
      if (part.source == part.destination || !operation.call.sends(0)) continue;
      operation.count_moved(copy_piece(part, 0, part.source));
    }
  }

 private:
  void check_aborted() const {
    if (*aborted_) throw Failure(Error{"comm_aborted", "rank 0 ended the run", on_rank(0), {}});
  }

  std::shared_ptr<std::atomic<bool>> aborted_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() { return std::make_unique<SelfCommunicator>(); }

}  // namespace shardscope
