#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// What of a model and its batch limits how it can be split.
struct ModelLimits {
  std::vector<int64_t> tensor, context, expert;  // sizes that a degree divides; empty: it can only be 1
  bool has_sequence = false;                     // dimensions batch, length, embed
  int64_t layers = 0;                            // 0: no op belongs to a layer
  int64_t rows = 1;                              // of a batch
  std::vector<std::string> recompute;            // policies that the model can have: "selective" needs attention
};
ModelLimits model_limits(const RunConfig& config);
// Throws Failure (no_layers; no_dimensions where it has no such sizes either) at the model's name, where it has no
// layers: a search makes its bounds of these.
void check_layers(const RunConfig& config, const ModelLimits& limits);

// That a strategy's pipeline_schedule may name, the usual one first: all of the registry but the interleaved one, which
// 1f1b is with virtual stages.
const std::vector<std::string>& strategy_schedules();

// Values that a number of the strategy, or `mode`, may have: {"tensor": {"8"}}.
using FixedNumbers = std::map<std::string, std::vector<std::string>>;
// "tensor=8", "zero=0,1", "mode=fastest", "recompute=none,full", "order=replicas_outermost", "order=data pipeline
// tensor". Throws Failure (bad_argument) where there is no such number or value. Numbers are kept as they are usually
// written: of "08" it is 8.
void fix(FixedNumbers& fixed, const std::string& text);

// The keys of `fixed` whose values no candidate has, whatever the others are; empty where only all together leave none.
// Nothing where there are candidates.
std::optional<std::vector<std::string>> impossible_numbers(const ModelLimits& limits, int64_t devices,
                                                           const FixedNumbers& fixed);

// Throws Failure (bad_argument) at the fixed values with which there is no candidate, and why; nothing where there are
// some, or where there are none without fixed values either.
void refuse_fixed(const ModelLimits& limits, int64_t devices, const FixedNumbers& fixed);

bool divides_all(int64_t degree, const std::vector<int64_t>& sizes);  // none: only 1 does

// Whether ZeRO splits anything: over data, expert and context.
bool has_zero_stages(const StrategyConfig& strategy);

struct Candidate {
  StrategyConfig strategy;
  LayoutMode mode = LayoutMode::as_written;
  bool operator==(const Candidate&) const = default;
};

// All strategies of so many devices, in an order of their own:
//   pipeline, tensor, context, expert, fsdp   whose product divides the devices; data is the rest
//     tensor divides heads and mlp, context the length, expert the experts; pipeline is at most the layers; data x fsdp
//     x expert divides the batch
//   sequence_parallel   false; true with tensor parallelism, where context x tensor divides the length
//   zero                0; 1, 2 with replicas (data, expert or context) and without fsdp; 3 with a context alone (over
//                       data alone it is fsdp), or where it is fixed
//   virtual_stages      1; with a pipeline also those of which the layers are a multiple; pipeline_schedule
//                       1f1b, and of one chunk gpipe and zero_bubble
//   microbatch_size     divisors of the sequences of a replica, with which the schedule can be
//   recompute           none, selective, full (none alone without an optimizer; no selective without attention)
//   order               megatron: replicas within stages; with both replicas_outermost
//   mode                as_written
// `fixed` leaves those with its values alone, and may have the mode fastest, other orders of axes and what to recompute
// by patterns. Where a value has no effect (a schedule without a pipeline, sequence_parallel without tensor
// parallelism) it leaves nothing out.
std::vector<Candidate> candidates(const ModelLimits& limits, int64_t devices, const FixedNumbers& fixed);

// The run of a candidate.
RunConfig run_of(const RunConfig& config, const Candidate& candidate);

// "data 8 x tensor 4, sequence parallel, microbatch 2, selective".
std::string text_of(const Candidate& candidate);

}  // namespace shardscope
