#include "engine/search/memory_bound.h"

#include <algorithm>
#include <limits>

namespace shardscope {

namespace {

class MemoryOfStages {
 public:
  MemoryOfStages(const LayerProfile& profile, const LayerMemory& memory) : profile_(profile), memory_(memory) {}

  // Of these layers, whichever of equal ones, and what is beside them.
  double sum(const std::vector<double>& by_part, const ChunkLayers& layers, bool beside = true) const {
    double bytes = 0;
    for (size_t g = 0; g < layers.count.size(); ++g) bytes += static_cast<double>(layers.count[g]) * least(by_part, g);
    if (layers.has_before && beside) bytes += by_part[static_cast<size_t>(profile_.kept)];
    if (layers.has_behind && beside) bytes += by_part[static_cast<size_t>(profile_.kept) + 1];
    return bytes;
  }

  // In use at a position of a chunk with these layers, of one microbatch; 0 where it has not the part that runs there.
  double at_position(const LayerMemory::Position& position, const ChunkLayers& stage) const {
    const int kept = profile_.kept;
    if (position.part == kept && !stage.has_before) return 0;
    if (position.part == kept + 1 && !stage.has_behind) return 0;
    double bytes = 0;
    if (stage.has_before) bytes += position.bytes[static_cast<size_t>(kept)];
    if (stage.has_behind) bytes += position.bytes[static_cast<size_t>(kept) + 1];
    for (size_t g = 0; g < profile_.layers.size(); ++g) {
      const EqualLayers& of = profile_.layers[g];
      const double first = position.bytes[static_cast<size_t>(of.kept)],
                   last = position.bytes[static_cast<size_t>(of.kept + of.kept_count - 1)];
      int64_t count = stage.count[g];
      double others = std::min(first, last);
      if (position.part >= of.kept && position.part < of.kept + of.kept_count) {
        if (count == 0) return 0;
        const bool is_first = position.part == of.kept;
        bytes += is_first ? first : last;
        --count;
        // The one beside it may hold what it gives or gets; those further away not.
        if (of.kept_count > 1 && count > 0) {
          bytes += is_first ? last : first;
          --count;
          others = further(position, of.kept + (is_first ? 1 : 0));
        }
      }
      bytes += static_cast<double>(count) * others;
    }
    return bytes;
  }

  // What a part has at least at positions of the same pass.
  double further(const LayerMemory::Position& position, int part) const {
    double least = position.bytes[static_cast<size_t>(part)];
    for (const LayerMemory::Position& other : memory_.positions) {
      if (other.is_forward == position.is_forward) least = std::min(least, other.bytes[static_cast<size_t>(part)]);
    }
    return least;
  }

  double most_at_a_position(const ChunkLayers& layers) const {
    double most = 0;
    for (const LayerMemory::Position& position : memory_.positions)
      most = std::max(most, at_position(position, layers));
    return most;
  }

  // What a part of these has while it runs one pass, at least of one of them.
  double passing(const std::vector<double>& by_part, const ChunkLayers& layers) const {
    double most = 0;
    for (size_t g = 0; g < layers.count.size(); ++g) {
      if (layers.count[g] > 0) most = std::max(most, least(by_part, g));
    }
    if (layers.has_before) most = std::max(most, by_part[static_cast<size_t>(profile_.kept)]);
    if (layers.has_behind) most = std::max(most, by_part[static_cast<size_t>(profile_.kept) + 1]);
    return most;
  }

  double between(const ChunkLayers& layers) const {
    // Of what is beside the layers, another stage may use a state too.
    double bytes = sum(memory_.between, layers, false);
    if (layers.has_before) bytes += memory_.constant[static_cast<size_t>(profile_.kept)];
    if (layers.has_behind) bytes += memory_.constant[static_cast<size_t>(profile_.kept) + 1];
    return bytes;
  }

  // What is always there.
  double states(const ChunkLayers& layers, const StateShards& shards = {}) const {
    return sum(memory_.parameters, layers) / shards.parameters + sum(memory_.optimizer, layers) / shards.optimizer +
           sum(memory_.gradients, layers) / shards.gradients;
  }

  // What a chunk keeps for microbatches in flight.
  double kept(const ChunkLayers& layers, const InFlight& in_flight, size_t chunk) const {
    const auto until_backward = static_cast<double>(in_flight.until_backward[chunk]),
               until_weights = static_cast<double>(in_flight.until_weights[chunk]);
    return until_backward * sum(memory_.kept, layers) +
           (until_weights - until_backward) * sum(memory_.kept_for_weights, layers);
  }

  // What the chunks of a stage keep between forward and backward, and what passes.
  double kept_by_stage(const std::vector<ChunkLayers>& chunks, size_t stage, size_t stages, const InFlight& in_flight,
                       bool splits_backward) const {
    double bytes = 0;
    for (size_t c = stage; c < chunks.size(); c += stages) bytes += kept(chunks[c], in_flight, c);
    const size_t last = last_chunk(chunks, stage, stages);
    if (in_flight.until_backward[last] == 1) return bytes;
    const double forward = passing(memory_.passing_forward, chunks[last]),
                 backward = splits_backward ? 0 : passing(memory_.passing_backward, chunks[last]);
    return bytes + std::max(forward, backward);
  }

  // What a stage of one chunk keeps between the two halves of backward.
  double kept_between_halves(const ChunkLayers& layers, const InFlight& in_flight, size_t stage) const {
    const auto between = static_cast<double>(in_flight.between_halves[stage]);
    const double made = between * sum(memory_.made_for_weights, layers);
    if (in_flight.until_backward[stage] > 1) return made + kept(layers, in_flight, stage);
    return made + static_cast<double>(in_flight.until_weights[stage]) * sum(memory_.kept_for_weights, layers);
  }

  // At positions within the passes of the last chunk of a stage.
  double within_passes(const std::vector<ChunkLayers>& chunks, size_t stage, size_t stages, const InFlight& in_flight,
                       bool splits_backward) const {
    const size_t last = last_chunk(chunks, stage, stages);
    ChunkLayers layers = chunks[last];
    double beside = 0;
    if (layers.has_before) beside += memory_.constant[static_cast<size_t>(profile_.kept)];
    layers.has_before = false;
    double most = 0;
    for (const LayerMemory::Position& position : memory_.positions) {
      const bool is_behind = position.part == profile_.kept + 1;
      const bool counts = position.is_forward ? is_behind : !splits_backward;
      if (position.part == profile_.kept || !counts) continue;
      ChunkLayers of = layers;
      double at = beside;
      if (!is_behind && of.has_behind) {
        at += memory_.constant[static_cast<size_t>(profile_.kept) + 1];
        of.has_behind = false;
      }
      const double own = at_position(position, of);
      if (own > 0) most = std::max(most, at + own);
    }
    if (most == 0 || is_single(in_flight)) return 0;
    for (size_t c = stage; c < last; c += stages) most += between(chunks[c]) + kept(chunks[c], in_flight, c);
    return most + static_cast<double>(in_flight.until_backward[last] - 1) * sum(memory_.kept, chunks[last]);
  }

  const LayerMemory& memory() const { return memory_; }

 private:
  // Whether a step has one microbatch alone.
  static bool is_single(const InFlight& in_flight) { return in_flight.until_backward.front() == 1; }
  static size_t last_chunk(const std::vector<ChunkLayers>& chunks, size_t stage, size_t stages) {
    return chunks.size() - stages + stage;
  }

  double least(const std::vector<double>& by_part, size_t group) const {
    const EqualLayers& of = profile_.layers[group];
    return std::min(by_part[static_cast<size_t>(of.kept)], by_part[static_cast<size_t>(of.kept + of.kept_count - 1)]);
  }

  const LayerProfile& profile_;
  const LayerMemory& memory_;
};

// In whichever order backward is listed.
template <class Bytes>
double least_of_orders(const LayerProfile& profile, const Bytes& bytes) {
  const double least = bytes(MemoryOfStages(profile, profile.memory));
  if (!profile.memory_of_other_order) return least;
  return std::min(least, bytes(MemoryOfStages(profile, *profile.memory_of_other_order)));
}

}  // namespace

double memory_bound(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                    const InFlight& in_flight, bool splits_backward) {
  return least_of_orders(profile, [&](const MemoryOfStages& of) {
    if (stages == 1) return of.most_at_a_position(chunks.front());
    double most = 0;
    for (size_t s = 0; s < stages; ++s) {
      const ChunkLayers stage = layers_of_stage(chunks, s, stages);
      most = std::max({most, of.between(stage) + of.kept_by_stage(chunks, s, stages, in_flight, splits_backward),
                       of.sum(of.memory().constant, stage),
                       of.within_passes(chunks, s, stages, in_flight, splits_backward)});
      if (splits_backward) most = std::max(most, of.states(stage) + of.kept_between_halves(stage, in_flight, s));
    }
    return most;
  });
}

StateShards state_shards(const StrategyConfig& strategy) {
  if (strategy.fsdp > 1) {
    const auto parts = static_cast<double>(strategy.fsdp);
    return {parts, parts, parts};
  }
  // The axes over which ZeRO splits; experts are split by one of them already.
  const auto replicas = static_cast<double>(strategy.data * strategy.expert * strategy.context);
  const auto from = [&](int64_t stage) { return strategy.zero >= stage ? replicas : 1; };
  return {from(3), from(1), from(2)};
}

double coarse_memory_bound(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                           const InFlight& in_flight, bool splits_backward, const StateShards& shards, double scale) {
  return least_of_orders(profile, [&](const MemoryOfStages& of) {
    double most = 0;
    for (size_t s = 0; s < stages; ++s) {
      const ChunkLayers stage = layers_of_stage(chunks, s, stages);
      double kept = of.kept_by_stage(chunks, s, stages, in_flight, splits_backward);
      if (splits_backward) kept = std::max(kept, of.kept_between_halves(stage, in_flight, s));
      most = std::max(most, of.states(stage, shards) + scale * kept);
    }
    return most;
  });
}

double with_allocator(double bytes, const StackMemory& memory) {
  const double whole_byte = 1;
  return bytes + std::max(0.0, bytes * (memory.allocator - 1) + memory.fixed_bytes - whole_byte);
}

double likely_memory(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                     const InFlight& in_flight) {
  return least_of_orders(profile, [&](const MemoryOfStages& of) {
    double most = 0;
    for (size_t s = 0; s < stages; ++s) {
      double all = 0;
      for (size_t c = s; c < chunks.size(); c += stages)
        all += of.sum(of.memory().constant, chunks[c]) + of.kept(chunks[c], in_flight, c);
      for (size_t c = s; c < chunks.size(); c += stages) {
        const double one = of.sum(of.memory().constant, chunks[c]) + of.sum(of.memory().kept, chunks[c]);
        most = std::max(most, all - one + of.most_at_a_position(chunks[c]));
      }
    }
    return most;
  });
}

}  // namespace shardscope
