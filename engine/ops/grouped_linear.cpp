#include "engine/ops/grouped_linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/expert_linear.h"
#include "engine/ops/expert_product.h"

namespace shardscope {

std::string to_string(const GroupedLinearAttributes& a) {
  return fmt::format("filled={}{}{}", a.filled, a.transposed ? ", transposed" : "", a.wide ? ", to f32" : "");
}

namespace {

// Linear layers of groups of rows of uneven size, without padding: of rows (q, p, c, d), the first counts[q, p, 0] of
// each (q, p) are multiplied by kernel (p, 0), the next counts[q, p, 1] by kernel (p, 1), and so on; those behind are
// not looked at, and their results are zero. Kernels (p n, f, d) as those of expert_linear.

// Of local shapes; `kernels` of the p n experts that are here.
double group_flops(const Attributes& attributes, std::span<const TensorType> operands, const TensorType& kernels) {
  const Shape& rows = operands[0].shape;
  const double filled = attributes.as<GroupedLinearAttributes>().filled;
  const double all = static_cast<double>(rows[0] * rows[1] * rows[2]) * filled;
  return 2 * all * static_cast<double>(kernels.shape[1] * kernels.shape[2]);
}

int64_t rows_of_expert(const Attributes& attributes, std::span<const TensorType> operands, const TensorType& kernels) {
  const Shape& rows = operands[0].shape;
  const double filled = attributes.as<GroupedLinearAttributes>().filled;
  const double all = static_cast<double>(rows[0] * rows[1] * rows[2]) * filled;
  return std::max<int64_t>(1, static_cast<int64_t>(all / static_cast<double>(std::max<int64_t>(1, kernels.shape[0]))));
}

int64_t group_workspace(std::span<const TensorType> operands, const TensorType& kernels, int threads) {
  const Shape& rows = operands[0].shape;
  const ExpertWorkspace of_thread(rows[0] * rows[1] * rows[2], kernels.shape[2], kernels.shape[1], operands[0].dtype);
  return threads * of_thread.bytes();
}

// (x (q, p, c, d), counts, d y (q, p, c, f)) -> d kernels (p n, f, d).
class GroupedLinearGrad : public ExpertProduct<GroupedLinearAttributes> {
 public:
  std::string_view name() const override { return "grouped_linear_grad"; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType> results) const override {
    return group_flops(attributes, operands, results[0]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType> results) const override {
    const Shape& k = results[0].shape;
    return {{k[1], k[2], rows_of_expert(attributes, operands, results[0]), k[0], true}};
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType> results,
                          int threads) const override {
    return group_workspace(operands, results[0], threads);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    attributes.as<GroupedLinearAttributes>();
    return {{"qpcd", "qpn", "qpcf"}, {"(pn)fd"}, "cn", false};
  }
};

const GroupedLinearGrad grouped_linear_grad;

// (rows (q, p, c, d), counts i32 (q, p, n), kernels (p n, f, d)) -> (q, p, c, f); transposed: of rows (q, p, c, f), to
// (q, p, c, d).
class GroupedLinear : public ExpertProduct<GroupedLinearAttributes> {
 public:
  std::string_view name() const override { return "grouped_linear"; }
  int counts_operand() const override { return 1; }
  double counted_share(const Attributes& attributes, std::span<const TensorType>) const override {
    return attributes.as<GroupedLinearAttributes>().filled;
  }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return group_flops(attributes, operands, operands[2]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    const Shape& k = operands[2].shape;
    return {{rows_of_expert(attributes, operands, operands[2]), k[1], k[2], k[0], false}};
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>,
                          int threads) const override {
    return group_workspace(operands, operands[2], threads);
  }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const ValueId x = op.inputs[0], counts = op.inputs[1], kernels = op.inputs[2];
    const ValueId dy = product_cotangent(context, context.result_cotangents[0], context.graph.type(x).dtype);
    auto attributes = op.attributes.as<GroupedLinearAttributes>();
    if (context.trained[2]) {
      std::vector<ValueId> inputs{x, counts, dy};
      if (attributes.transposed) std::swap(inputs[0], inputs[2]);
      context.operand_cotangents[2] = context.append_value(
          grouped_linear_grad, inputs, GroupedLinearAttributes{false, attributes.filled}, "kernels");
    }
    if (!context.trained[0]) return;
    attributes.transposed = !attributes.transposed;
    context.operand_cotangents[0] = context.append_value(*this, {dy, counts, kernels}, attributes, "input");
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType>) const override {
    const bool transposed = attributes.as<GroupedLinearAttributes>().transposed;
    return {{transposed ? "qpcf" : "qpcd", "qpn", "(pn)fd"}, {transposed ? "qpcd" : "qpcf"}, "cn", false};
  }
};

const GroupedLinear grouped_linear;

}  // namespace

std::vector<const OpDefinition*> grouped_linear_ops() { return {&grouped_linear, &grouped_linear_grad}; }

}  // namespace shardscope
