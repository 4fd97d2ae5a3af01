#include <map>
#include <string>

#include "engine/base/error.h"
#include "engine/runtime/kernels/kernel_families.h"

namespace shardscope {

namespace {

const std::map<std::string_view, KernelFactory>& factories() {
  static const std::map<std::string_view, KernelFactory> all = [] {
    std::map<std::string_view, KernelFactory> map;
    for (auto family : {adam_kernels, add_kernels, attention_kernels, attention_grad_kernels, constant_kernels,
                        cross_entropy_kernels, dropout_kernels, einsum_kernels, embedding_kernels, gelu_kernels,
                        initialise_kernels, layer_norm_kernels, layer_norm_grad_kernels, reduce_sum_kernels}) {
      for (const NamedKernel& kernel : family()) map.emplace(kernel.op, kernel.factory);
    }
    return map;
  }();
  return all;
}

}  // namespace

KernelFactory kernel_factory(std::string_view op) {
  auto found = factories().find(op);
  if (found != factories().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories()) names.emplace_back(name);
  const std::string wrong(op);
  throw Failure(Error{"no_kernel", "no kernel computes op '" + wrong + "'", wrong, name_hint(wrong, names)});
}

}  // namespace shardscope
