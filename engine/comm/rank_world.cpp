#include "engine/comm/rank_world.h"

#include <numeric>
#include <vector>

#include "engine/comm/peer_communicator.h"
#include "engine/comm/self_communicator.h"
#include "engine/comm/shared_memory.h"

namespace shardscope {

RankWorld make_self_world(int64_t arena_bytes) {
  auto memory = std::make_shared<Mapping>(Mapping::anonymous(arena_bytes));
  std::span<std::byte> arena{memory->data(), static_cast<size_t>(memory->bytes())};
  return {std::move(memory), arena, make_self_communicator()};
}

RankWorld make_shared_memory_world(Communicator& bootstrap, int64_t arena_bytes) {
  std::vector<int> world_ranks(static_cast<size_t>(bootstrap.size()));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  SharedMemory shared = share_memory(bootstrap, world_ranks, arena_bytes);
  auto communicator = std::make_unique<PeerCommunicator>(shared.region, shared.memory, shared.group,
                                                         std::move(world_ranks), bootstrap.rank());
  return {shared.memory, shared.arena, std::move(communicator)};
}

}  // namespace shardscope
