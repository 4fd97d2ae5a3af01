#include "engine/ops/expert_linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/ops/expert_product.h"
#include "engine/ops/registry.h"
#include "engine/ops/workspace.h"

namespace shardscope {

std::string to_string(const ExpertLinearAttributes& a) {
  return fmt::format("experts={}{}{}", a.experts, a.transposed ? ", transposed" : "", a.wide ? ", to f32" : "");
}

// Results of products, on either side, are f32 or as the operands.
ExpertWorkspace::ExpertWorkspace(int64_t entries, int64_t in, int64_t out, DType operands) {
  const int64_t rows = std::min(expert_rows, round_up(std::max<int64_t>(1, entries), 32));
  const bool narrow = operands != DType::f32;
  list = round_up(4 * entries);
  left = round_up(4 * rows * in);
  right = round_up(4 * rows * out);
  sums = narrow ? round_up(4 * std::min(out, expert_sum_rows) * in) : 0;
  product = std::max(matrix_product_workspace_bytes(rows, std::max(in, out), std::max(in, out), 1, operands),
                     matrix_product_workspace_bytes(out, in, rows, 1, operands));
}

namespace {

// Linear layers of a mixture of experts without padding: row (b, s, k), a slot, is multiplied by the kernel of expert
// choices[b, s, k] alone. A device that holds part of the experts e gives zeros for the slots of others: splitting e
// leaves the result partial.

int64_t local_workspace(std::span<const TensorType> operands, const TensorType& kernels, int threads) {
  const int64_t slots = element_count(operands[1].shape);
  return threads * ExpertWorkspace(slots, kernels.shape[2], kernels.shape[1], operands[0].dtype).bytes();
}

// Slots are spread evenly over the experts.
double local_flops(const Attributes& attributes, std::span<const TensorType> operands, const TensorType& kernels) {
  const double slots = static_cast<double>(element_count(operands[1].shape));
  return 2 * slots * static_cast<double>(element_count(kernels.shape)) /
         static_cast<double>(attributes.as<ExpertLinearAttributes>().experts);
}

std::vector<ProductWork> local_products(const Attributes& attributes, std::span<const TensorType> operands,
                                        const TensorType& kernels, bool of_kernels) {
  const int64_t experts = attributes.as<ExpertLinearAttributes>().experts;
  const int64_t rows = std::max<int64_t>(1, element_count(operands[1].shape) / std::max<int64_t>(1, experts));
  const Shape& k = kernels.shape;
  if (of_kernels) return {{k[1], k[2], rows, k[0], true}};
  return {{rows, k[1], k[2], k[0], false}};
}

std::string rows_of(std::span<const TensorType> operands, size_t operand, char columns) {
  const bool slotted = operand < operands.size() && operands[operand].shape.size() == 4;
  return (slotted ? "bsk" : "bs") + std::string(1, columns);
}

// (x (b, s, d) or (b, s, k, d), choices, d y (b, s, f) or (b, s, k, f)) -> d kernels (e, f, d).
class ExpertLinearGrad : public ExpertProduct<ExpertLinearAttributes> {
 public:
  std::string_view name() const override { return "expert_linear_grad"; }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType> results) const override {
    return local_flops(attributes, operands, results[0]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType> results) const override {
    return local_products(attributes, operands, results[0], true);
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType> results,
                          int threads) const override {
    return local_workspace(operands, results[0], threads);
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const int64_t experts = attributes.as<ExpertLinearAttributes>().experts;
    return {{rows_of(operands, 0, 'd'), "bsk", rows_of(operands, 2, 'f')}, {"efd"}, "", false, {}, {{'e', experts}}};
  }
};

const ExpertLinearGrad expert_linear_grad;

// (x (b, s, d) or (b, s, k, d), choices i32 (b, s, k), kernels (e, f, d)) -> (b, s, k, f); transposed: of x
// (b, s, k, f), to (b, s, k, d).
class ExpertLinear : public ExpertProduct<ExpertLinearAttributes> {
 public:
  std::string_view name() const override { return "expert_linear"; }

  OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    OpSignature signature = ExpertProduct::infer(attributes, operands);
    const int64_t experts = attributes.as<ExpertLinearAttributes>().experts;
    if (operands[2].shape[0] == experts) return signature;
    throw Failure(Error{"attributes", fmt::format("kernels of {} experts, not of {}", operands[2].shape[0], experts),
                        "", "as many as there are"});
  }
  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    return local_flops(attributes, operands, operands[2]);
  }
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    return local_products(attributes, operands, operands[2], false);
  }
  int64_t workspace_bytes(const Attributes&, std::span<const TensorType> operands, std::span<const TensorType>,
                          int threads) const override {
    return local_workspace(operands, operands[2], threads);
  }

  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const ValueId x = op.inputs[0], choices = op.inputs[1], kernels = op.inputs[2];
    const ValueId dy = product_cotangent(context, context.result_cotangents[0], context.graph.type(x).dtype);
    const auto& [experts, transposed, wide] = op.attributes.as<ExpertLinearAttributes>();
    if (context.trained[2]) {
      std::vector<ValueId> inputs{x, choices, dy};
      if (transposed) inputs = {dy, choices, x};
      context.operand_cotangents[2] =
          context.append_value(expert_linear_grad, inputs, ExpertLinearAttributes{experts, false}, "kernels");
    }
    if (!context.trained[0]) return;
    ValueId dx =
        context.append_value(*this, {dy, choices, kernels}, ExpertLinearAttributes{experts, !transposed}, "input");
    if (context.graph.type(x).shape.size() == 3) {
      dx = context.append_value(op_definition("reduce_sum"), {dx}, EquationAttributes{"bskd->bsd"}, "slots");
    }
    context.operand_cotangents[0] = dx;
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    const bool transposed = attributes.as<ExpertLinearAttributes>().transposed;
    return {{rows_of(operands, 0, transposed ? 'f' : 'd'), "bsk", "efd"}, {transposed ? "bskd" : "bskf"}, "", false};
  }
};

const ExpertLinear expert_linear;

}  // namespace

std::vector<const OpDefinition*> expert_linear_ops() { return {&expert_linear, &expert_linear_grad}; }

}  // namespace shardscope
