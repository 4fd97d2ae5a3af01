#include "engine/comm/mpi_world.h"

#include <sys/stat.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "engine/base/align.h"
#include "engine/base/hash.h"
#include "engine/comm/mpi_hosts_communicator.h"
#include "engine/comm/shared_memory.h"

namespace shardscope {

namespace {

constexpr int64_t largest_message = int64_t{1} << 30;

// Equal for processes that run on one kernel, see the same processes and the same shared memory, and were given no
// different host.
uint64_t host_identity() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  Hasher hasher;
  hasher.add(text);
  for (const char* place : {"/proc/self/ns/pid", "/dev/shm"}) {
    struct stat status {};
    bool known = stat(place, &status) == 0;
    hasher.add(known ? static_cast<uint64_t>(status.st_dev) : 0);
    hasher.add(known ? static_cast<uint64_t>(status.st_ino) : 0);
  }
  const char* reported = std::getenv(host_variable);
  hasher.add(std::string(reported ? reported : ""));
  return hasher.digest();
}

// By rank, the number of its host.
std::vector<int> hosts_of_ranks(Communicator& mpi) {
  uint64_t own = host_identity();
  std::vector<uint64_t> all(static_cast<size_t>(mpi.size()));
  CollectivePart part{&own, all.data(), {2}, DType::i32, -1, 0};
  mpi.all_gather({&part, 1});
  std::vector<int> hosts;
  for (uint64_t identity : all) hosts.push_back(static_cast<int>(std::ranges::find(all, identity) - all.begin()));
  return hosts;
}

// By rank, where it has published that its staging room is.
std::vector<uint64_t> staging_of_ranks(Communicator& mpi, uint64_t own) {
  std::vector<uint64_t> all(static_cast<size_t>(mpi.size()));
  const CollectivePart part{&own, all.data(), {2}, DType::i32, -1, 0};
  mpi.all_gather({&part, 1});
  return all;
}

RankWorld make_hosts_world(Communicator& mpi, std::vector<int> host_of_rank, int64_t arena_bytes) {
  const int rank = mpi.rank();
  std::vector<int> here;
  for (int other = 0; other < mpi.size(); ++other) {
    if (host_of_rank[static_cast<size_t>(other)] == host_of_rank[static_cast<size_t>(rank)]) here.push_back(other);
  }
  const std::unique_ptr<Communicator> neighbours = mpi.split(host_of_rank[static_cast<size_t>(rank)], rank);
  const int64_t staging_bytes = HostsWorld::staging_bytes(mpi.size()), first = round_up(arena_bytes);
  SharedMemory shared = share_memory(*neighbours, here, first + staging_bytes);
  auto world = std::make_shared<HostsWorld>();
  world->link = std::make_shared<MpiLink>(largest_message);
  world->region = shared.region;
  world->memory = shared.memory;
  world->host_of_rank = std::move(host_of_rank);
  world->staging = shared.arena.subspan(static_cast<size_t>(first));
  world->staging_of_rank = staging_of_ranks(mpi, shared.memory->publish(world->staging.data(), staging_bytes));
  shared.region->while_waiting([link = world->link] {
    link->check_aborted();
    link->progress();
  });
  std::vector<int> all(static_cast<size_t>(mpi.size()));
  std::iota(all.begin(), all.end(), 0);
  const int tag = world->link->next_tag();
  world->link->take_tags_below(tag + Communicator::max_open_tickets);
  auto communicator = std::make_unique<HostsCommunicator>(std::move(world), shared.group, std::move(all), rank, tag);
  return {shared.memory, shared.arena.first(static_cast<size_t>(arena_bytes)), std::move(communicator)};
}

}  // namespace

RankWorld make_world(Communicator& mpi, int64_t arena_bytes) {
  if (mpi.size() == 1) return make_self_world(arena_bytes);
  std::vector<int> hosts = hosts_of_ranks(mpi);
  const bool one_host = std::ranges::all_of(hosts, [&](int host) { return host == hosts[0]; });
  if (one_host) return make_shared_memory_world(mpi, arena_bytes);
  return make_hosts_world(mpi, std::move(hosts), arena_bytes);
}

}  // namespace shardscope
