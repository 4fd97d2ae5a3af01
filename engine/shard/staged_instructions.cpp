#include "engine/shard/staged_instructions.h"

#include <algorithm>
#include <iterator>

namespace shardscope {

namespace {

bool go_together(const CollectiveStart& a, const CollectiveStart& b) {
  const bool reduces = a.kind == InstructionKind::all_reduce || a.kind == InstructionKind::reduce_scatter;
  return a.kind == b.kind && a.axes == b.axes && a.kind != InstructionKind::collective_permute &&
         a.reduction == b.reduction && (!reduces || a.dtype == b.dtype);
}

void merge(CollectiveStart& bucket, const CollectiveStart& one) {
  bucket.operands.push_back(one.operands[0]);
  bucket.destinations.push_back(one.destinations[0]);
  bucket.moved.push_back(one.moved[0]);
  bucket.wire_bytes += one.wire_bytes;
  bucket.payload_bytes += one.payload_bytes;
  bucket.bytes_touched += one.bytes_touched;
}

}  // namespace

void StagedInstructions::add(size_t stage, Instruction instruction) {
  if (stages_.size() <= stage) stages_.resize(stage + 1);
  stages_[stage].push_back(std::move(instruction));
}

void StagedInstructions::append_to(std::vector<Instruction>& instructions) {
  for (std::vector<Instruction>& stage : stages_) {
    std::vector<Instruction> buckets;
    for (Instruction& instruction : stage) {
      const CollectiveStart* collective = instruction.as<CollectiveStart>();
      if (!collective) {
        instructions.push_back(std::move(instruction));
        continue;
      }
      auto same = std::ranges::find_if(
          buckets, [&](const Instruction& bucket) { return go_together(*bucket.as<CollectiveStart>(), *collective); });
      if (same == buckets.end()) {
        buckets.push_back(std::move(instruction));
      } else {
        merge(*same->as<CollectiveStart>(), *collective);
      }
    }
    std::ranges::move(buckets, std::back_inserter(instructions));
  }
  stages_.clear();
}

}  // namespace shardscope
