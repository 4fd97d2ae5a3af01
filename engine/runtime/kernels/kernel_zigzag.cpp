#include <cstring>

#include "engine/ops/zigzag.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

void zigzag(const KernelArguments& of, const StepContext&) {
  const auto& attributes = of.attributes->as<ZigzagAttributes>();
  const Shape& shape = of.inputs[0].shape;
  const auto dimension = static_cast<size_t>(attributes.dimension);
  const Zigzag order{attributes.blocks, shape[dimension]};
  int64_t arrays = 1, run_bytes = byte_size(of.inputs[0].dtype);
  for (size_t d = 0; d < dimension; ++d) arrays *= shape[d];
  for (size_t d = dimension + 1; d < shape.size(); ++d) run_bytes *= shape[d];
  const auto* all_from = static_cast<const std::byte*>(of.inputs[0].data);
  auto* all_to = static_cast<std::byte*>(of.outputs[0].data);
  for (int64_t array = 0; array < arrays; ++array) {
    for (int64_t index = 0; index < order.length; ++index) {
      const int64_t position = order.position(index);
      const int64_t from = array * order.length + (attributes.back ? index : position);
      const int64_t to = array * order.length + (attributes.back ? position : index);
      std::memcpy(all_to + to * run_bytes, all_from + from * run_bytes, static_cast<size_t>(run_bytes));
    }
  }
}

}  // namespace

std::vector<NamedKernel> zigzag_kernels() {
  return {{"zigzag", "f32->f32", construct_function<zigzag>},
          {"zigzag", "bf16->bf16", construct_function<zigzag>},
          {"zigzag", "i32->i32", construct_function<zigzag>}};
}

std::vector<KernelCase> zigzag_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"zigzag", ZigzagAttributes{2, 1, false}, {sizes.query()}}};
}

}  // namespace shardscope
