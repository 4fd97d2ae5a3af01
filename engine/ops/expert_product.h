#pragma once

#include <array>

#include "engine/ops/labelled_op.h"
#include "engine/ops/product_types.h"

namespace shardscope {

// Base of products of rows and kernels of experts, with attributes of type Own. The second of three operands says which
// rows are those of which expert; the others are operands of products.
template <class Own>
class ExpertProduct : public LabelledOp {
 public:
  std::string_view work_kind() const override { return "matrix products"; }
  bool is_matrix_product() const override { return true; }
  OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    OpSignature signature = LabelledOp::infer(attributes, operands);
    require_one_dtype(name(), std::array{operands[0], operands[2]});
    return signature;
  }
  Attributes with_f32_result(const Attributes& attributes) const override {
    Own wide = attributes.as<Own>();
    wide.wide = true;
    return wide;
  }

 protected:
  bool takes(int operand, DType dtype) const override { return operand == 1 ? dtype == DType::i32 : is_float(dtype); }
  DType result_dtype(int, const Attributes& attributes, std::span<const TensorType> operands) const override {
    return product_result(operands[0].dtype, attributes.as<Own>().wide);
  }
  double flops_per_element() const override { return 0; }
};

}  // namespace shardscope
