#pragma once

#include <vector>

#include "engine/machine/stack.h"
#include "engine/search/chunk_layers.h"
#include "engine/search/layer_profile.h"
#include "engine/search/schedule_orders.h"

namespace shardscope {

// What the heaviest device of a pipeline, or of one stage, needs at least, in bytes, of what LayerMemory says of each
// layer.
//
// One stage. At a position of a task all that is in use there is in the arena at the same time; of the layers that have
// been passed, and of those that have not.
//
// Several. Forward of each chunk begins before any backward: that of the first microbatch needs all of the network
// forward. A plan lists each task once, in that order; the arena holds at each position of the list all that some
// microbatch needs there. Take the position between the last forward and the first backward.
//   What is made before forward and needed in backward is in use.
//   What forward of a chunk makes for its backward has a slot for each microbatch that is between the two at a time,
//   and is in use, as these runs surround each other, in all of forward to backward; of one microbatch from where it is
//   made to where it is read last. So all slots of all chunks are in use.
// A value counts once, on the stage whose layer reads it. Where the last chunk of a stage has several slots, they are
// in use in all of its two passes: then what a part has for the pass alone comes on top, in forward, and in backward
// where it is not split.
//   Positions within the two passes of the last chunk of a stage: chunks before it are between their passes, and of its
// own all that is in use there with one device, but for what another part makes that is beside the layers. Of a step of
// one microbatch nothing of that is claimed: its arena may share what a profile, of several, keeps apart.
//   Where backward is split, a stage has one chunk. What gradients of parameters are made of has a slot for each
// microbatch that waits for the second half, in use from where the first of these makes it; so at the end of the first
// half it is all there, and what forward made for that half alone where it has several slots.
double memory_bound(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                    const InFlight& in_flight, bool splits_backward);

struct StateShards {
  double parameters = 1, optimizer = 1, gradients = 1;  // in how many parts replicas may split them
  StateShards times(double parts) const { return {parameters * parts, optimizer * parts, gradients * parts}; }
};
StateShards state_shards(const StrategyConfig& strategy);

// The same between forward and backward, and its halves, by a coarse profile, of one replica: states, split as far as
// can be, and what is kept. `scale`: of what microbatches keep and what passes.
double coarse_memory_bound(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                           const InFlight& in_flight, bool splits_backward, const StateShards& shards,
                           double scale = 1);

// What a process of the stack holds at least where its arrays have so many bytes: its allocator and libraries too.
double with_allocator(double bytes, const StackMemory& memory);

// About what it takes: an estimate, no bound.
double likely_memory(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                     const InFlight& in_flight);

}  // namespace shardscope
