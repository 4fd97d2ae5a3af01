#include "engine/ops/labelled_op.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/workspace.h"

namespace shardscope {

namespace {

// Division by the root mean square over the last dimension z (B. Zhang and R. Sennrich, 2019), cut like layer_norm so
// that z can be split: y = gamma x r with r = rsqrt(squares / features + epsilon), squares the sum of x^2 over z.

std::string rms_all(std::span<const TensorType> operands) { return row_labels(operands) + 'z'; }

// x -> sum of x^2.
class Squares : public LabelledOp {
 public:
  std::string_view name() const override { return "rms_norm_squares"; }
  std::string_view work_kind() const override { return "norms"; }
  bool stops_gradient() const override { return true; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return {{rms_all(operands)}, {row_labels(operands)}, "", false};
  }
  double flops_per_element() const override { return 2; }
};

// (dy, x, gamma) -> sum of dy gamma x.
class GradProduct : public LabelledOp {
 public:
  std::string_view name() const override { return "rms_norm_grad_product"; }
  std::string_view work_kind() const override { return "norms"; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return {{rms_all(operands), rms_all(operands), "z"}, {row_labels(operands)}, "", false};
  }
  double flops_per_element() const override { return 3; }
};

// (dy, x, gamma, squares, the sum of GradProduct) -> dx = r dy gamma - x r^3 / features product.
class RmsGradInput : public LabelledOp {
 public:
  std::string_view name() const override { return "rms_norm_grad_input"; }
  std::string_view work_kind() const override { return "norms"; }
  int in_place_operand(int) const override { return 0; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<LayerNormAttributes>();
    const std::string a = rms_all(operands), r = row_labels(operands);
    return {{a, a, "z", r, r}, {a}, "", false};
  }
  double flops_per_element() const override { return 4; }
};

// (dy, x, squares) -> d gamma, summed over the rows.
class GradScale : public LabelledOp {
 public:
  std::string_view name() const override { return "rms_norm_grad_scale"; }
  std::string_view work_kind() const override { return "norms"; }

  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType> results,
                          int) const override {
    const int64_t columns = element_count(results[0].shape);
    return columns == 0 ? 0 : column_sums_workspace_bytes(element_count(operands[1].shape) / columns, columns, 1);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<LayerNormAttributes>();
    return {{rms_all(operands), rms_all(operands), row_labels(operands)}, {"z"}, "", false};
  }
  double flops_per_element() const override { return 3; }
};

const Squares squares;
const GradProduct grad_product;
const RmsGradInput rms_grad_input;
const GradScale grad_scale;

// (x, gamma, squares) -> y.
class RmsNorm : public LabelledOp {
 public:
  std::string_view name() const override { return "rms_norm"; }
  std::string_view work_kind() const override { return "norms"; }

  // The squares are a function of x too: their part of dx is inside rms_norm_grad_input, so they get no cotangent.
  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const ValueId x = op.inputs[0], gamma = op.inputs[1], sums = op.inputs[2], dy = context.result_cotangents[0];
    context.operand_cotangents[1] = context.append_value(grad_scale, {dy, x, sums}, op.attributes);
    const ValueId product = context.append_value(grad_product, {dy, x, gamma});
    context.operand_cotangents[2] = GradientContext::none;
    context.operand_cotangents[0] = context.append_value(rms_grad_input, {dy, x, gamma, sums, product}, op.attributes);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<LayerNormAttributes>();
    const std::string a = rms_all(operands);
    return {{a, "z", row_labels(operands)}, {a}, "", false};
  }
  double flops_per_element() const override { return 2; }
};

const RmsNorm rms_norm;

}  // namespace

std::vector<const OpDefinition*> rms_norm_ops() {
  return {&squares, &rms_norm, &grad_product, &rms_grad_input, &grad_scale};
}

}  // namespace shardscope
