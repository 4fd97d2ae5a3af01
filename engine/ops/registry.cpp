#include "engine/ops/registry.h"

#include <unordered_map>

#include "engine/base/error.h"
#include "engine/ops/families.h"

namespace shardscope {

const std::vector<const OpDefinition*>& all_op_definitions() {
  static const std::vector<const OpDefinition*> all = [] {
    std::vector<const OpDefinition*> list;
    for (auto family : {embedding_ops,
                        einsum_ops,
                        conv_ops,
                        add_ops,
                        gelu_ops,
                        relu_ops,
                        layer_norm_ops,
                        rms_norm_ops,
                        attention_ops,
                        dropout_ops,
                        cross_entropy_ops,
                        squared_error_ops,
                        scale_ops,
                        accumulate_ops,
                        constant_ops,
                        cast_ops,
                        rearrange_ops,
                        stack_ops,
                        next_token_ops,
                        initialise_ops,
                        adam_ops,
                        sgd_ops,
                        global_norm_ops,
                        momentum_sgd_ops,
                        lion_ops,
                        no_update_ops,
                        silu_ops,
                        gelu_exact_ops,
                        multiply_ops,
                        soft_cap_ops,
                        clip_ops,
                        split_ops,
                        rotary_ops,
                        attention_sink_ops,
                        top_k_ops,
                        expert_linear_ops,
                        weighted_sum_ops,
                        dispatch_ops,
                        grouped_linear_ops,
                        ring_attention_ops,
                        zigzag_ops,
                        expert_load_ops,
                        expert_probability_ops}) {
      for (const OpDefinition* definition : family()) list.push_back(definition);
    }
    return list;
  }();
  return all;
}

const OpDefinition& op_definition(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpDefinition*> map;
    for (const OpDefinition* definition : all_op_definitions()) map.emplace(definition->name(), definition);
    return map;
  }();
  const auto found = by_name.find(name);
  if (found != by_name.end()) return *found->second;
  std::vector<std::string> names;
  for (const OpDefinition* definition : all_op_definitions()) names.emplace_back(definition->name());
  throw Failure(Error{"unknown_op", "unknown op '" + std::string(name) + "'", "", name_hint(std::string(name), names)});
}

}  // namespace shardscope
