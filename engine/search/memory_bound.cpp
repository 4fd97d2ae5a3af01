#include "engine/search/memory_bound.h"

#include <algorithm>
#include <limits>

namespace shardscope {

namespace {

class MemoryOfStages {
 public:
  explicit MemoryOfStages(const LayerProfile& profile) : profile_(profile), memory_(profile.memory) {}

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

  // What the chunks of a stage keep for microbatches in flight, and what passes.
  double in_flight(const std::vector<ChunkLayers>& chunks, size_t stage, size_t stages,
                   const std::vector<int>& in_flight, bool splits_backward) const {
    double bytes = 0;
    size_t last = stage;
    for (size_t c = stage; c < chunks.size(); c += stages) {
      bytes += static_cast<double>(in_flight[c]) * sum(memory_.kept, chunks[c]);
      last = c;
    }
    if (in_flight[last] == 1) return bytes;
    const double forward = passing(memory_.passing_forward, chunks[last]),
                 backward = splits_backward ? 0 : passing(memory_.passing_backward, chunks[last]);
    return bytes + std::max(forward, backward);
  }

  const LayerMemory& memory() const { return memory_; }

 private:
  double least(const std::vector<double>& by_part, size_t group) const {
    const EqualLayers& of = profile_.layers[group];
    return std::min(by_part[static_cast<size_t>(of.kept)], by_part[static_cast<size_t>(of.kept + of.kept_count - 1)]);
  }

  const LayerProfile& profile_;
  const LayerMemory& memory_;
};

}  // namespace

double memory_bound(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                    const std::vector<int>& in_flight, bool splits_backward) {
  const MemoryOfStages of(profile);
  if (stages == 1) return of.most_at_a_position(chunks.front());
  double most = 0;
  for (size_t s = 0; s < stages; ++s) {
    const ChunkLayers stage = layers_of_stage(chunks, s, stages);
    const double bytes = of.between(stage) + of.in_flight(chunks, s, stages, in_flight, splits_backward);
    most = std::max({most, bytes, of.sum(of.memory().constant, stage)});
  }
  return most;
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
                           const std::vector<int>& in_flight, bool splits_backward, const StateShards& shards,
                           double scale) {
  const MemoryOfStages of(profile);
  double most = 0;
  for (size_t s = 0; s < stages; ++s) {
    const ChunkLayers stage = layers_of_stage(chunks, s, stages);
    const double states = of.sum(of.memory().parameters, stage) / shards.parameters +
                          of.sum(of.memory().optimizer, stage) / shards.optimizer +
                          of.sum(of.memory().gradients, stage) / shards.gradients;
    most = std::max(most, states + scale * of.in_flight(chunks, s, stages, in_flight, splits_backward));
  }
  return most;
}

double with_allocator(double bytes, const StackMemory& memory) {
  const double whole_byte = 1;
  return bytes + std::max(0.0, bytes * (memory.allocator - 1) + memory.fixed_bytes - whole_byte);
}

double likely_memory(const LayerProfile& profile, const std::vector<ChunkLayers>& chunks, size_t stages,
                     const std::vector<int>& in_flight) {
  const MemoryOfStages of(profile);
  const auto kept = [&](size_t c) { return static_cast<double>(in_flight[c]) * of.sum(of.memory().kept, chunks[c]); };
  double most = 0;
  for (size_t s = 0; s < stages; ++s) {
    double all = 0;
    for (size_t c = s; c < chunks.size(); c += stages) all += of.sum(of.memory().constant, chunks[c]) + kept(c);
    for (size_t c = s; c < chunks.size(); c += stages) {
      const double one = of.sum(of.memory().constant, chunks[c]) + of.sum(of.memory().kept, chunks[c]);
      most = std::max(most, all - one + of.most_at_a_position(chunks[c]));
    }
  }
  return most;
}

}  // namespace shardscope
