#pragma once

#include <vector>

#include "engine/graph/op_definition.h"

namespace shardscope {

// Each op family (one file) gives its definitions, forward and backward together.
std::vector<const OpDefinition*> embedding_ops();
std::vector<const OpDefinition*> einsum_ops();
std::vector<const OpDefinition*> add_ops();
std::vector<const OpDefinition*> conv_ops();
std::vector<const OpDefinition*> gelu_ops();
std::vector<const OpDefinition*> relu_ops();
std::vector<const OpDefinition*> silu_ops();
std::vector<const OpDefinition*> gelu_exact_ops();
std::vector<const OpDefinition*> multiply_ops();
std::vector<const OpDefinition*> soft_cap_ops();
std::vector<const OpDefinition*> clip_ops();
std::vector<const OpDefinition*> split_ops();
std::vector<const OpDefinition*> rotary_ops();
std::vector<const OpDefinition*> top_k_ops();
std::vector<const OpDefinition*> expert_linear_ops();
std::vector<const OpDefinition*> dispatch_ops();
std::vector<const OpDefinition*> expert_load_ops();
std::vector<const OpDefinition*> expert_probability_ops();
std::vector<const OpDefinition*> grouped_linear_ops();
std::vector<const OpDefinition*> weighted_sum_ops();
std::vector<const OpDefinition*> layer_norm_ops();
std::vector<const OpDefinition*> rms_norm_ops();
std::vector<const OpDefinition*> attention_ops();
std::vector<const OpDefinition*> attention_sink_ops();
std::vector<const OpDefinition*> ring_attention_ops();
std::vector<const OpDefinition*> zigzag_ops();
std::vector<const OpDefinition*> dropout_ops();
std::vector<const OpDefinition*> cross_entropy_ops();
std::vector<const OpDefinition*> squared_error_ops();
std::vector<const OpDefinition*> scale_ops();
std::vector<const OpDefinition*> accumulate_ops();
std::vector<const OpDefinition*> constant_ops();
std::vector<const OpDefinition*> cast_ops();
std::vector<const OpDefinition*> rearrange_ops();
std::vector<const OpDefinition*> stack_ops();
std::vector<const OpDefinition*> next_token_ops();
std::vector<const OpDefinition*> initialise_ops();
std::vector<const OpDefinition*> adam_ops();
std::vector<const OpDefinition*> sgd_ops();
std::vector<const OpDefinition*> momentum_sgd_ops();
std::vector<const OpDefinition*> lion_ops();
std::vector<const OpDefinition*> no_update_ops();
std::vector<const OpDefinition*> global_norm_ops();

}  // namespace shardscope
