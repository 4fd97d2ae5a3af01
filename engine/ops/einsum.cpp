#include "engine/ops/equation.h"
#include "engine/ops/families.h"
#include "engine/ops/registry.h"
#include "engine/ops/workspace.h"

namespace shardscope {

namespace {

struct ProductSizes {
  int64_t m = 1, n = 1, k = 1;
};

// m: labels of the first operand and the result; n: of the second and the result; k: of both operands.
ProductSizes product_sizes(const Equation& equation, std::span<const TensorType> operands) {
  ProductSizes sizes;
  const std::string& a = equation.operands[0];
  const std::string& b = equation.operands[1];
  for (size_t d = 0; d < a.size(); ++d) {
    (b.find(a[d]) == std::string::npos ? sizes.m : sizes.k) *= operands[0].shape[d];
  }
  for (size_t d = 0; d < b.size(); ++d) {
    if (a.find(b[d]) == std::string::npos) sizes.n *= operands[1].shape[d];
  }
  return sizes;
}

// A matrix product over named dimensions, "bse,ehd->bshd" (jax.numpy.einsum with two operands and no batch labels).
class Einsum : public OpDefinition {
 public:
  std::string_view name() const override { return "einsum"; }
  bool is_matrix_product() const override { return true; }

  std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> operands) const override {
    return {{result_shape(parse_equation(attributes, operands.size()), operands), DType::f32}};
  }

  FactorRule factors(const Attributes& attributes, std::span<const TensorType> operands,
                     std::span<const TensorType> results) const override {
    Equation equation = parse_equation(attributes, operands.size());
    return make_rule(equation.operands, {equation.result}, operands, results);
  }

  double flops(const Attributes& attributes, std::span<const TensorType> operands,
               std::span<const TensorType>) const override {
    ProductSizes sizes = product_sizes(parse_equation(attributes, operands.size()), operands);
    return 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  }

  int64_t workspace_bytes(const Attributes& attributes, std::span<const TensorType> operands,
                          std::span<const TensorType>, int threads) const override {
    ProductSizes sizes = product_sizes(parse_equation(attributes, operands.size()), operands);
    return matrix_product_workspace_bytes(sizes.m, sizes.n, sizes.k, threads, operands[0].dtype);
  }

  // A,B->C: dA = dC,B->A and dB = A,dC->B.
  void gradient(GradientContext& context) const override {
    const Op op = context.graph.ops[context.op];
    Equation equation = parse_equation(op.attributes, 2);
    const std::string& a = equation.operands[0];
    const std::string& b = equation.operands[1];
    ValueId cotangent = context.result_cotangents[0];
    context.operand_cotangents[1] = context.append_value(
        *this, {op.inputs[0], cotangent}, {{"equation", a + "," + equation.result + "->" + b}}, "kernel");
    context.operand_cotangents[0] = context.append_value(*this, {cotangent, op.inputs[1]},
                                                         {{"equation", equation.result + "," + b + "->" + a}}, "input");
  }
};

const Einsum einsum;

}  // namespace

std::vector<const OpDefinition*> einsum_ops() { return {&einsum}; }

}  // namespace shardscope
