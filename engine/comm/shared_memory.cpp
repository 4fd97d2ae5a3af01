#include "engine/comm/shared_memory.h"

#include <algorithm>
#include <string>

#include "engine/comm/shared_objects.h"

namespace shardscope {

namespace {

// The arenas of the ranks of this host, by rank of the run, each readable here. What is published is the offset in the
// publisher's arena.
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
      throw Failure(Error{"comm_argument", "an array of " + std::to_string(bytes) + " bytes is outside of the arena",
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

SharedMemory share_memory(Communicator& bootstrap, const std::vector<int>& world_ranks, int64_t arena_bytes) {
  const auto member = static_cast<size_t>(bootstrap.rank());
  const int rank = world_ranks[member], ranks = 1 + *std::ranges::max_element(world_ranks);
  std::vector<Mapping> arenas(static_cast<size_t>(ranks));
  std::vector<Mapping> shared = share_objects(bootstrap, {"arena", arena_bytes, arena_bytes, false});
  for (size_t i = 0; i < shared.size(); ++i) arenas[static_cast<size_t>(world_ranks[i])] = std::move(shared[i]);
  auto memory = std::make_shared<SharedArenas>(std::move(arenas), rank);

  int64_t control_bytes = member == 0 ? ControlRegion::bytes_for(ranks) : 0;
  std::vector<Mapping> control = share_objects(bootstrap, {"control", control_bytes, 0, true});
  auto region = std::make_shared<ControlRegion>(std::move(control[0]), ranks, member == 0);
  bootstrap.barrier();
  region->set_process(rank, this_process());
  uint64_t group = member == 0 ? region->make_group(bootstrap.size()) : 0;
  std::vector<uint64_t> groups(world_ranks.size());
  CollectivePart part{&group, groups.data(), {2}, DType::i32, -1, 0};
  bootstrap.all_gather({&part, 1});
  std::span<std::byte> arena = memory->own();
  return {std::move(region), std::move(memory), arena, groups[0]};
}

}  // namespace shardscope
