#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/ops/labelled_op.h"
#include "engine/ops/product_layout.h"
#include "engine/ops/product_types.h"
#include "engine/ops/workspace.h"

namespace shardscope {

namespace {

// Throws Failure (code equation) where a joined dimension has labels of two kinds.
void require_joined_alike(const Equation& equation) {
  const auto kind = [&](char label) {
    const bool in_a = equation.operands[0].find(label) != std::string::npos;
    const bool in_b = equation.operands[1].find(label) != std::string::npos;
    return 2 * in_a + in_b;
  };
  for (const std::string& text : {equation.operands[0], equation.operands[1], equation.result}) {
    for (const std::string& labels : dimension_labels(text)) {
      for (char label : labels) {
        if (kind(label) == kind(labels[0])) continue;
        throw Failure(Error{"equation", "'(" + labels + ")' of equation '" + to_string(equation) + "' joins two kinds",
                            "", "join rows, columns or contracted dimensions"});
      }
    }
  }
}

// A matrix product over named dimensions, "bse,ehd->bshd" (jax.numpy.einsum with two operands and no batch labels), of
// two arrays of one floating-point type, giving that type (of f8 bf16), or f32 where the attributes say so; sums are
// taken in f32. The labels of rows, of columns and of the
// contraction must each be neighbours, in the same order in both arrays that have them: then it is one product.
// Dimensions may be joined, all of whose labels are of one of the three: "bse,(hd)e->bshd", with a size for h, is a
// linear layer whose result is heads.
class Einsum : public LabelledOp {
 public:
  std::string_view name() const override { return "einsum"; }
  std::string_view work_kind() const override { return "matrix products"; }
  bool is_matrix_product() const override { return true; }
  Attributes with_f32_result(const Attributes& attributes) const override { return widened(attributes); }

  OpSignature infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    OpSignature signature = LabelledOp::infer(attributes, operands);
    const Equation& equation = attributes.as<EquationAttributes>().equation;
    product_layout(equation);
    require_joined_alike(equation);
    return signature;
  }

  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    const ProductSizes sizes =
        product_sizes(attributes.as<EquationAttributes>().equation, operands[0].shape, operands[1].shape);
    return 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  }

  // The kernel multiplies the other way round where the result is stored as columns by rows.
  std::vector<ProductWork> products(const Attributes& attributes, std::span<const TensorType> operands,
                                    std::span<const TensorType>) const override {
    const Equation& equation = attributes.as<EquationAttributes>().equation;
    const ProductLayout layout = product_layout(equation);
    const auto [m, n, k] = product_sizes(equation, operands[0].shape, operands[1].shape);
    if (layout.transpose_c) return {{n, m, k, 1, !layout.transpose_b}};
    return {{m, n, k, 1, layout.transpose_a}};
  }

  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType>, int threads) const override {
    const ProductSizes sizes =
        product_sizes(attributes.as<EquationAttributes>().equation, operands[0].shape, operands[1].shape);
    return matrix_product_workspace_bytes(sizes.m, sizes.n, sizes.k, threads, operands[0].dtype);
  }

  // A,B->C: dA = dC,B->A and dB = A,dC->B.
  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    const EquationAttributes& attributes = op.attributes.as<EquationAttributes>();
    const Equation& equation = attributes.equation;
    const auto& sizes = attributes.sizes;
    const std::string& a = equation.operands[0];
    const std::string& b = equation.operands[1];
    const ValueId cotangent =
        product_cotangent(context, context.result_cotangents[0], context.graph.type(op.inputs[0]).dtype);
    if (context.trained[1]) {
      context.operand_cotangents[1] = context.append_value(
          *this, {op.inputs[0], cotangent}, EquationAttributes{Equation({a, equation.result}, b), sizes}, "kernel");
    }
    if (context.trained[0]) {
      context.operand_cotangents[0] = context.append_value(
          *this, {cotangent, op.inputs[1]}, EquationAttributes{Equation({equation.result, b}, a), sizes}, "input");
    }
  }

 protected:
  Labels labels(const Attributes& attributes, std::span<const TensorType> operands) const override {
    require_one_dtype(name(), operands);
    const auto& [equation, sizes, wide] = attributes.as<EquationAttributes>();
    return {equation.operands, {equation.result}, "", false, {}, sizes};
  }
  double flops_per_element() const override { return 0; }
  bool takes(int, DType dtype) const override { return is_float(dtype); }
  DType result_dtype(int, const Attributes& attributes, std::span<const TensorType> operands) const override {
    return product_result(operands[0].dtype, attributes.as<EquationAttributes>().wide);
  }
};

const Einsum einsum;

}  // namespace

std::vector<const OpDefinition*> einsum_ops() { return {&einsum}; }

}  // namespace shardscope
