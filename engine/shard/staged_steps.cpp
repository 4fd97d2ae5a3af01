#include "engine/shard/staged_steps.h"

#include <algorithm>
#include <iterator>

namespace shardscope {

namespace {

bool go_together(const Step& a, const Step& b) {
  const bool reduces = a.kind == StepKind::all_reduce || a.kind == StepKind::reduce_scatter;
  return a.kind == b.kind && a.axes == b.axes && a.kind != StepKind::collective_permute && a.reduction == b.reduction &&
         (!reduces || a.dtype == b.dtype);
}

void merge(Step& bucket, const Step& step) {
  bucket.inputs.push_back(step.inputs[0]);
  bucket.outputs.push_back(step.outputs[0]);
  bucket.moved.push_back(step.moved[0]);
  bucket.wire_bytes += step.wire_bytes;
  bucket.payload_bytes += step.payload_bytes;
  bucket.bytes_touched += step.bytes_touched;
}

}  // namespace

void StagedSteps::add(size_t stage, Step step) {
  if (stages_.size() <= stage) stages_.resize(stage + 1);
  stages_[stage].push_back(std::move(step));
}

void StagedSteps::append_to(std::vector<Step>& steps) {
  for (std::vector<Step>& stage : stages_) {
    std::vector<Step> buckets;
    for (Step& step : stage) {
      if (!is_collective(step.kind)) {
        steps.push_back(std::move(step));
        continue;
      }
      auto same = std::ranges::find_if(buckets, [&](const Step& bucket) { return go_together(bucket, step); });
      if (same == buckets.end()) {
        buckets.push_back(std::move(step));
      } else {
        merge(*same, step);
      }
    }
    std::ranges::move(buckets, std::back_inserter(steps));
  }
  stages_.clear();
}

}  // namespace shardscope
