#include "engine/comm/mpi_world.h"

#include <sys/stat.h>
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "engine/base/hash.h"
#include "engine/comm/mapping.h"

namespace shardscope {

namespace {

// Equal for processes that run on one kernel, see the same processes and the same shared memory.
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
  return hasher.digest();
}

bool on_one_host(Communicator& mpi) {
  uint64_t own = host_identity();
  std::vector<uint64_t> all(static_cast<size_t>(mpi.size()));
  CollectivePart part{&own, all.data(), {2}, DType::i32, -1, 0};
  mpi.all_gather({&part, 1});
  return std::ranges::all_of(all, [&](uint64_t other) { return other == all[0]; });
}

}  // namespace

RankWorld make_world(Communicator& mpi, int64_t arena_bytes) {
  if (mpi.size() == 1) return make_self_world(arena_bytes);
  if (on_one_host(mpi)) return make_shared_memory_world(mpi, arena_bytes);
  auto memory = std::make_shared<Mapping>(Mapping::anonymous(arena_bytes));
  std::span<std::byte> arena{memory->data(), static_cast<size_t>(memory->bytes())};
  return {std::move(memory), arena, mpi.split(0, mpi.rank())};
}

}  // namespace shardscope
