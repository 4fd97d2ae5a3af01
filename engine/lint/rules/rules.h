#pragma once

#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// One rule each, in the file of its name; docs/lint.md has a chapter on each.

LintRule memory_rule();               // the plan needs more memory than a device has
LintRule idle_axis_rule();            // a mesh axis that splits nothing
LintRule communication_rule();        // more than a fifth of the step is waiting for collectives and transfers
LintRule tensor_across_nodes_rule();  // activations are reduced over a slow level of the machine
LintRule heavy_on_slow_level_rule();  // the axis with more communication is on the slower level
LintRule overlap_rule();              // collectives could run beside computation, and the run file forbids it
LintRule stage_imbalance_rule();      // stages of a pipeline that wait more than a tenth of the time for the slowest
LintRule bubble_rule();               // a bubble above a tenth, with rows left for more microbatches
LintRule recompute_rule();            // forward results are recomputed though they would fit
LintRule replicated_state_rule();     // optimizer state, or more, is on every device of an axis that could split it
LintRule costly_zero_rule();          // a ZeRO stage whose memory nobody needs, and that takes time
LintRule indivisible_batch_rule();    // a rule gives the batch an axis that does not divide it
LintRule few_kv_heads_rule();         // fewer key and value heads than devices that split the query heads
LintRule vocabulary_rule();           // a vocabulary that the machine or the mesh cannot split evenly
LintRule uncontracted_spec_rule();    // a parameter split along a dimension that no product keeps split
LintRule gathered_embedding_rule();   // an embedding is gathered whole to look up a few of its rows
LintRule gathered_logits_rule();      // the model's output is gathered whole
LintRule avoidable_reshard_rule();    // two specs force a reshard that one change removes
LintRule split_all_reduce_rule();     // an all-reduce that could be a reduce-scatter and a later all-gather
LintRule small_products_rule();       // matrix products smaller than a tile
LintRule padding_rule();              // matrix products that tiles do not divide
LintRule expert_imbalance_rule();     // so few tokens for an expert that chance makes some wait for others
LintRule short_context_rule();        // sequences are split that are too short for it to pay
LintRule context_attention_rule();    // keys and values of a split length travel in the slower way
LintRule bf16_accumulation_rule();    // gradients are added up over microbatches in bf16
LintRule fragmentation_rule();        // more than a tenth of the arena is unused at its peak

}  // namespace shardscope
