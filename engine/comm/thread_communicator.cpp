#include "engine/comm/thread_communicator.h"

#include <numeric>
#include <string>

#include "engine/comm/peer_communicator.h"

namespace shardscope {

namespace {

class ProcessMemory final : public PeerMemory {
 public:
  uint64_t publish(const std::byte* array, int64_t) const override { return reinterpret_cast<uint64_t>(array); }
  const std::byte* find(int, uint64_t published) const override {
    return reinterpret_cast<const std::byte*>(published);
  }
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks) {
  if (ranks < 1) {
    throw Failure(Error{"comm_argument", "a group of " + std::to_string(ranks) + " ranks", {}, "at least 1"});
  }
  auto region = std::make_shared<ControlRegion>(Mapping::inherited(ControlRegion::bytes_for(ranks)), ranks, true);
  auto memory = std::make_shared<ProcessMemory>();
  uint64_t group = region->make_group(ranks);
  std::vector<int> world_ranks(static_cast<size_t>(ranks));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank) {
    communicators.push_back(std::make_unique<PeerCommunicator>(region, memory, group, world_ranks, rank));
  }
  return communicators;
}

}  // namespace shardscope
