#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

struct NamedKernel {
  std::string_view op;
  std::string_view types;  // as type_signature writes them; "f32...->f32": any number of operands of that type
  KernelFactory factory;
};

// Each kernel family (one file) gives its kernels; what they compute is given in engine/ops.
std::vector<NamedKernel> accumulate_kernels();
std::vector<NamedKernel> activation_kernels();
std::vector<NamedKernel> adam_kernels();
std::vector<NamedKernel> add_kernels();
std::vector<NamedKernel> attention_kernels();
std::vector<NamedKernel> attention_grad_kernels();
std::vector<NamedKernel> attention_sink_kernels();
std::vector<NamedKernel> cast_kernels();
std::vector<NamedKernel> constant_kernels();
std::vector<NamedKernel> conv_kernels();
std::vector<NamedKernel> cross_entropy_kernels();
std::vector<NamedKernel> dispatch_kernels();
std::vector<NamedKernel> expert_load_kernels();
std::vector<NamedKernel> expert_probability_kernels();
std::vector<NamedKernel> dropout_kernels();
std::vector<NamedKernel> einsum_kernels();
std::vector<NamedKernel> embedding_kernels();
std::vector<NamedKernel> expert_linear_kernels();
std::vector<NamedKernel> gelu_kernels();
std::vector<NamedKernel> global_norm_kernels();
std::vector<NamedKernel> grouped_linear_kernels();
std::vector<NamedKernel> initialise_kernels();
std::vector<NamedKernel> layer_norm_kernels();
std::vector<NamedKernel> layer_norm_grad_kernels();
std::vector<NamedKernel> next_token_kernels();
std::vector<NamedKernel> rearrange_kernels();
std::vector<NamedKernel> reduce_sum_kernels();
std::vector<NamedKernel> relu_kernels();
std::vector<NamedKernel> ring_attention_kernels();
std::vector<NamedKernel> rms_norm_kernels();
std::vector<NamedKernel> rotary_kernels();
std::vector<NamedKernel> scale_kernels();
std::vector<NamedKernel> sgd_kernels();
std::vector<NamedKernel> momentum_sgd_kernels();
std::vector<NamedKernel> lion_kernels();
std::vector<NamedKernel> no_update_kernels();
std::vector<NamedKernel> split_kernels();
std::vector<NamedKernel> squared_error_kernels();
std::vector<NamedKernel> stack_kernels();
std::vector<NamedKernel> top_k_kernels();
std::vector<NamedKernel> weighted_sum_kernels();
std::vector<NamedKernel> zigzag_kernels();

template <class T>
std::unique_ptr<Kernel> construct(const KernelArguments& arguments) {
  return std::make_unique<T>(arguments);
}

}  // namespace shardscope
