#pragma once

#include <string>
#include <vector>

#include "engine/compile/resolved_run.h"
#include "engine/graph/graph.h"
#include "engine/shard/spec_rules.h"
#include "models/registry.h"

namespace shardscope {

struct SpecTargets;

// How a run file splits tokens and experts over a stage's mesh. Experts are recognised by the logical name "experts" of
// the first dimension of kernels, tokens by "batch" and "length" of inputs; where a model has experts and no tokens, by
// "batch" of the inputs' first dimension, and "length" of the second. Tokens travel to experts where the axes
// that split experts are the last that split the batch: where not, there is one block of all experts.
//
// Example: a batch over (data, expert), experts over expert: data x expert blocks of tokens, expert blocks of experts.
TokenSplit token_split(const RunConfig& config, const StagedMesh& mesh, const Graph& forward);

// Whether a model's graph has experts, recognised by their kernels.
bool has_experts(const Graph& forward);

// Pins what the run file does not speak of: tokens in another order, as the tokens; and what the ops dispatch and
// combine exchange, to the devices that have the experts: of rows (blocks of tokens, blocks of experts, ...) the first
// dimension over the other axes of the tokens, the second over those of the experts, and on their way the last, the
// features, over axes that split each expert's kernels: of devices that share an expert each sends and receives a part
// of a row, as Megatron's do.
void pin_tokens(const TokenSplit& split, const SpecTargets& arrays, const Graph& graph, ResolvedSpecs& resolved);

}  // namespace shardscope
