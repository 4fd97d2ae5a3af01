#include "engine/ops/constant.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/ops/labelled_op.h"

namespace shardscope {

std::string to_string(const ConstantAttributes& a) {
  return fmt::format("value={}, type={}{}", a.value, name(a.type.dtype), to_string(a.type.shape));
}

namespace {

// An array of one value, made where it is needed: the cotangent at which differentiation starts, say.
class Constant : public LabelledOp {
 public:
  std::string_view name() const override { return "constant"; }
  std::string_view work_kind() const override { return "elementwise"; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    const auto& [shape, dtype] = attributes.as<ConstantAttributes>().type;
    if (!is_float(dtype)) {
      throw Failure(Error{"dtype", "constant of " + std::string(shardscope::name(dtype)), "", "it may be f32 or bf16"});
    }
    return source_labels(shape);
  }
  double flops_per_element() const override { return 0; }
  DType result_dtype(int, const Attributes& attributes, std::span<const TensorType>) const override {
    return attributes.as<ConstantAttributes>().type.dtype;
  }
};

const Constant constant;

}  // namespace

std::vector<const OpDefinition*> constant_ops() { return {&constant}; }

}  // namespace shardscope
