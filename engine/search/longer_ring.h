#pragma once

#include "engine/graph/graph.h"
#include "engine/search/layer_profile.h"

namespace shardscope {

// Of how many devices a ring has, this many see what one of more does.
inline constexpr int64_t profiled_ring = 16;

// Whether keys and values of each attention in blocks go all the way round (ops/ring_attention.h), so that each further
// block adds a step that does the same.
bool goes_round(const Graph& graph);

// The `undivided` profile of a ring of `times` as many devices (context parallelism) at least, of one whose keys go
// round `blocks` >= 2 devices; `slower`: what each byte takes on the longer ring, of what it takes on this one, at
// most 1.
//
// A device has 1 / times of the length, and by the prices of an ideal machine (whole_step.h) an op takes at least that
// part. Of attention it has times as many steps, each of 1 / times^2 of the scores; of n blocks the first step sees at
// most twice what each other one does: it takes at least (1 - 1 / n) of that part. What is sent round is (1 - 1 / n) of
// the length, which rises with n, whatever each step sends; what else is exchanged is as large as before. What waits
// for what is not known: only computing and each stream's sum count. What a device keeps of a microbatch is at least
// that part, too.
LayerProfile with_longer_ring(const LayerProfile& ring, int64_t blocks, double times, double slower);

}  // namespace shardscope
