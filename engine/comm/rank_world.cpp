#include "engine/comm/rank_world.h"

#include <numeric>
#include <string>
#include <vector>

#include "engine/comm/peer_communicator.h"
#include "engine/comm/self_communicator.h"
#include "engine/comm/shared_objects.h"

namespace shardscope {

namespace {

// The arenas of all ranks, each readable here. What is published is the offset in the publisher's arena.
class SharedArenas final : public PeerMemory {
 public:
  SharedArenas(std::vector<Mapping> arenas, int rank) : arenas_(std::move(arenas)), rank_(rank) {}

  std::span<std::byte> own() const {
    const Mapping& mapping = arenas_[static_cast<size_t>(rank_)];
    return {mapping.data(), static_cast<size_t>(mapping.bytes())};
  }

  uint64_t publish(const std::byte* array, int64_t bytes) const override {
    std::byte* first = own().data();
    if (bytes == 0) return 0;
    if (array < first || array + bytes > first + own().size()) {
      throw Failure(Error{"comm_argument", "an array of " + std::to_string(bytes) + " bytes lies outside of the arena",
                          on_rank(rank_), "peers can read the arena alone"});
    }
    return static_cast<uint64_t>(array - first);
  }

  const std::byte* find(int rank, uint64_t published) const override {
    return arenas_[static_cast<size_t>(rank)].data() + published;
  }

 private:
  std::vector<Mapping> arenas_;
  int rank_;
};

}  // namespace

RankWorld make_self_world(int64_t arena_bytes) {
  auto memory = std::make_shared<Mapping>(Mapping::anonymous(arena_bytes));
  std::span<std::byte> arena{memory->data(), static_cast<size_t>(memory->bytes())};
  return {std::move(memory), arena, make_self_communicator()};
}

RankWorld make_shared_memory_world(Communicator& bootstrap, int64_t arena_bytes) {
  int rank = bootstrap.rank(), ranks = bootstrap.size();
  std::vector<Mapping> arenas = share_objects(bootstrap, {"arena", arena_bytes, arena_bytes, false});
  auto memory = std::make_shared<SharedArenas>(std::move(arenas), rank);

  int64_t control_bytes = rank == 0 ? ControlRegion::bytes_for(ranks) : 0;
  std::vector<Mapping> control = share_objects(bootstrap, {"control", control_bytes, 0, true});
  auto region = std::make_shared<ControlRegion>(std::move(control[0]), ranks, rank == 0);
  bootstrap.barrier();
  region->set_process(rank, this_process());
  uint64_t group = rank == 0 ? region->make_group(ranks) : 0;
  std::vector<uint64_t> groups(static_cast<size_t>(ranks));
  CollectivePart part{&group, groups.data(), {2}, DType::i32, -1, 0};
  bootstrap.all_gather({&part, 1});

  std::vector<int> world_ranks(static_cast<size_t>(ranks));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  std::span<std::byte> arena = memory->own();
  auto communicator = std::make_unique<PeerCommunicator>(region, memory, groups[0], std::move(world_ranks), rank);
  return {memory, arena, std::move(communicator)};
}

}  // namespace shardscope
