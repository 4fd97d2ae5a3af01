#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/error.h"
#include "engine/plan/plan.h"

namespace shardscope {

// Ranks of one host.
struct RankRange {
  int first = 0;
  int count = 0;

  // Of a number for each rank of the plan; 0 where there are none.
  int64_t sum(std::span<const int64_t> by_rank) const;
};

// That so many ranks need more memory together than their host has for them (code memory, with the numbers);
// `checkpoint_bytes`, of all of them, beside. Of a host whose memory is not known (0) nothing is said.
std::optional<Error> host_memory_excess(int64_t rank_bytes, int ranks, int64_t memory_bytes,
                                        int64_t checkpoint_bytes = 0);
// The same of the plan's ranks, on the hosts of its machine; or that its heaviest device has too little memory of its
// own.
std::optional<Error> host_memory_excess(const Plan& plan);

// Throw Failure of that, unless the person wants it (`--force`). With `ranks` and `memory_bytes`: of one host of
// several. `checkpoint_bytes`: checkpoint_bytes(plan), where there are to be checkpoints, which are copied in the
// memory of hosts.
void require_host_memory(const Plan& plan, bool force, std::span<const int64_t> checkpoint_bytes = {});
void require_host_memory(const Plan& plan, RankRange ranks, int64_t memory_bytes, bool force,
                         std::span<const int64_t> checkpoint_bytes = {});

inline constexpr std::string_view force_hint = "--force trains all the same";

}  // namespace shardscope
