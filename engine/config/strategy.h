#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// A strategy by its usual numbers, and the values of a run file that it stands for:
//
//   mesh.axes             the axes above 1, in `order`; else pipeline, data, fsdp, expert, context, tensor
//   sharding.in           [[data, fsdp, expert], context]
//   sharding.rules        behind those of the file:
//     of parameters       heads, kv_heads, mlp, vocab -> tensor; experts -> expert
//     of outputs          batch -> data, fsdp, expert; length -> context; vocab -> tensor
//     of activations      with sequence_parallel: batch -> data, fsdp, expert; of dimensions (batch, length, embed)
//                         length -> context, tensor; of (batch, length) and heads, kv_heads, mlp or vocab length ->
//                         context, and these -> tensor
//   sharding.keep         [expert, tensor]
//   sharding.zero         fsdp: stage 3 over fsdp; else `zero` over data, expert, context, as Megatron splits what all
//                         of these would have alike
//   schedule.microbatches batch_size / (microbatch_size x data x fsdp x expert)
//   schedule.rematerialise  `recompute`, where "selective" is "attention"
//   pipeline              axis "pipeline", `pipeline_schedule`, chunks = virtual_stages
//
// Axes of 1 device do not appear. A config that has a strategy holds these values, too: all but the reader, the writer
// and the window's strip look at them alone.

// Of a strategy, outermost first: tensor is innermost, as in Megatron.
const std::vector<std::string>& default_order();
// The degree of an axis by its name; of an unknown one null, or 1.
int64_t* find_degree(StrategyConfig& strategy, const std::string& axis);
int64_t degree(const StrategyConfig& strategy, const std::string& axis);

// pipeline.schedule of a strategy: 1f1b with virtual stages is the interleaved one.
std::string pipeline_schedule(const StrategyConfig& strategy);

// schedule.rematerialise as a strategy's `recompute` says it: "attention" is "selective".
std::string recompute_of(const std::string& rematerialise);
// run_file::rematerialise_policies() as it says them.
const std::vector<std::string>& recompute_policies();

// The config with the values that its strategy stands for. It has a strategy, and none of these values.
RunConfig expand_strategy(RunConfig config);

// The config without the values that its strategy stands for, of which expand_strategy() makes it; nothing where it has
// no strategy, or where its values do not follow from it.
std::optional<RunConfig> without_expansion(const RunConfig& config);

// The config with another strategy, or with a first one, in place of its mesh, pipeline, and of all of its sharding
// but the memory limit.
RunConfig with_strategy(RunConfig config, StrategyConfig strategy);

// Where a run file with a strategy says the value at a path: "mesh.axes[1].size" is "strategy.tensor". The path itself,
// where the strategy does not say it.
std::string strategy_place(const RunConfig& config, const std::string& path);

// Index in sharding.rules of the first rule that the strategy stands for; nothing where there is none.
std::optional<size_t> first_rule_of_strategy(const RunConfig& config);
// A text for people, in which rules from that index on have the name that the run file has for them:
// "sharding.rules[2].axes.batch wants ..." is "strategy (batch) wants ...".
std::string in_words_of_strategy(std::string text, size_t first_rule);

}  // namespace shardscope
