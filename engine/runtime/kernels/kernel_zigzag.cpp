#include <cstring>

#include "engine/ops/zigzag.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

class ZigzagKernel : public Kernel {
 public:
  explicit ZigzagKernel(const KernelArguments& arguments)
      : from_(static_cast<const std::byte*>(arguments.inputs[0].data)),
        to_(static_cast<std::byte*>(arguments.outputs[0].data)) {
    const auto& attributes = arguments.attributes->as<ZigzagAttributes>();
    const Shape& shape = arguments.inputs[0].shape;
    const auto dimension = static_cast<size_t>(attributes.dimension);
    back_ = attributes.back;
    order_ = {attributes.blocks, shape[dimension]};
    run_bytes_ = byte_size(arguments.inputs[0].dtype);
    for (size_t d = 0; d < dimension; ++d) outer_ *= shape[d];
    for (size_t d = dimension + 1; d < shape.size(); ++d) run_bytes_ *= shape[d];
  }

  void run(const StepContext&) override {
    for (int64_t outer = 0; outer < outer_; ++outer) {
      for (int64_t index = 0; index < order_.length; ++index) {
        const int64_t position = order_.position(index);
        const int64_t from = outer * order_.length + (back_ ? index : position);
        const int64_t to = outer * order_.length + (back_ ? position : index);
        std::memcpy(to_ + to * run_bytes_, from_ + from * run_bytes_, static_cast<size_t>(run_bytes_));
      }
    }
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  bool back_ = false;
  Zigzag order_;
  int64_t outer_ = 1, run_bytes_ = 1;
};

}  // namespace

std::vector<NamedKernel> zigzag_kernels() {
  return {{"zigzag", "f32->f32", construct<ZigzagKernel>}, {"zigzag", "i32->i32", construct<ZigzagKernel>}};
}

std::vector<KernelCase> zigzag_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  return {{"zigzag", ZigzagAttributes{2, 1, false}, {sizes.query()}}};
}

}  // namespace shardscope
