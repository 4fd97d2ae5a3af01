#include "engine/ops/layer_norm.h"

#include <fmt/format.h>

#include "engine/ops/labelled_op.h"
#include "engine/ops/workspace.h"

namespace shardscope {

std::string to_string(const LayerNormAttributes& a) {
  return fmt::format("epsilon={}, features={}", a.epsilon, a.features);
}

namespace {

// Layer normalisation over the last dimension e, cut so that e can be split: the sums over e are results of their own
// (partial when e is split), everything else is elementwise. flax.linen.LayerNorm with fast variance:
// mean = E[x], var = max(0, E[x^2] - mean^2), y = (x - mean) rsqrt(var + epsilon) scale + bias.

std::string all(std::span<const TensorType> operands) { return row_labels(operands) + 'z'; }

// x -> (sum of x, sum of x^2) over e.
class Moments : public LabelledOp {
 public:
  std::string_view name() const override { return "layer_norm_moments"; }
  std::string_view work_kind() const override { return "norms"; }
  bool stops_gradient() const override { return true; }

 protected:
  Labels labels(const Attributes&, std::span<const TensorType> operands) const override {
    return {{all(operands)}, {row_labels(operands), row_labels(operands)}, "", false};
  }
  double flops_per_element() const override { return 3; }
};

// (dy, x, sum, sum of squares, scale) -> sums over e of dy scale and dy scale xhat.
class GradMoments : public LabelledOp {
 public:
  std::string_view name() const override { return "layer_norm_grad_moments"; }
  std::string_view work_kind() const override { return "norms"; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<LayerNormAttributes>();
    std::string a = all(operands), r = row_labels(operands);
    return {{a, a, r, r, "z"}, {r, r}, "", false};
  }
  double flops_per_element() const override { return 6; }
};

// (dy, x, sum, sum of squares, scale, the two sums of GradMoments) -> dx.
class GradInput : public LabelledOp {
 public:
  std::string_view name() const override { return "layer_norm_grad_input"; }
  std::string_view work_kind() const override { return "norms"; }
  int in_place_operand(int) const override { return 0; }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<LayerNormAttributes>();
    std::string a = all(operands), r = row_labels(operands);
    return {{a, a, r, r, "z", r, r}, {a}, "", false};
  }
  double flops_per_element() const override { return 8; }
};

// (dy, x, sum, sum of squares) -> (d scale, d bias), summed over the rows.
class GradParameters : public LabelledOp {
 public:
  std::string_view name() const override { return "layer_norm_grad_parameters"; }
  std::string_view work_kind() const override { return "norms"; }

  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType> results,
                          int) const override {
    const int64_t columns = element_count(results[0].shape);
    return columns == 0 ? 0 : column_sums_workspace_bytes(element_count(operands[1].shape) / columns, columns, 2);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<LayerNormAttributes>();
    std::string a = all(operands), r = row_labels(operands);
    return {{a, a, r, r}, {"z", "z"}, "", false};
  }
  double flops_per_element() const override { return 5; }
};

const Moments moments;
const GradMoments grad_moments;
const GradInput grad_input;
const GradParameters grad_parameters;

// (x, sum, sum of squares, scale, bias) -> y.
class LayerNorm : public LabelledOp {
 public:
  std::string_view name() const override { return "layer_norm"; }
  std::string_view work_kind() const override { return "norms"; }

  // The sums are functions of x too: their part of dx is inside layer_norm_grad_input, so they get no cotangent.
  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    ValueId x = op.inputs[0], sum = op.inputs[1], squares = op.inputs[2], scale = op.inputs[3];
    ValueId dy = context.result_cotangents[0];
    OpId parameters = context.append(grad_parameters, {dy, x, sum, squares}, op.attributes);
    context.operand_cotangents[3] = context.graph.ops[parameters].outputs[0];
    context.operand_cotangents[4] = context.graph.ops[parameters].outputs[1];
    OpId sums = context.append(grad_moments, {dy, x, sum, squares, scale}, op.attributes);
    ValueId g1 = context.graph.ops[sums].outputs[0], g2 = context.graph.ops[sums].outputs[1];
    context.operand_cotangents[1] = context.operand_cotangents[2] = GradientContext::none;
    context.operand_cotangents[0] =
        context.append_value(grad_input, {dy, x, sum, squares, scale, g1, g2}, op.attributes);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    attributes.as<LayerNormAttributes>();
    std::string a = all(operands), r = row_labels(operands);
    return {{a, r, r, "z", "z"}, {a}, "", false};
  }
  double flops_per_element() const override { return 5; }
};

const LayerNorm layer_norm;

}  // namespace

std::vector<const OpDefinition*> layer_norm_ops() {
  return {&moments, &layer_norm, &grad_moments, &grad_input, &grad_parameters};
}

}  // namespace shardscope
