#pragma once

#include <vector>

#include "engine/search/candidates.h"

namespace shardscope {

// Whether one decision tells two candidates of the same devices apart:
//   one degree times a prime and another divided by it; data turned into fsdp or back, which is ZeRO 3
//   the ZeRO stage; schedule and virtual stages; recompute; sequence parallelism; order; mode
//   microbatch_size times a prime, or divided by it
// What has no effect on one of both is no decision. Where the pipeline's degree changes, virtual stages may be given
// up with it, since their number depends on it.
bool is_single_change(const Candidate& a, const Candidate& b);

// Those of `all` that are a single change away, as indices.
std::vector<int> neighbours_of(const Candidate& candidate, const std::vector<Candidate>& all);

}  // namespace shardscope
