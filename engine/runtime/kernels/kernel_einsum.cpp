#include <algorithm>
#include <string>

#include "engine/base/error.h"
#include "engine/ops/equation.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/matrix_product.h"

namespace shardscope {

namespace {

std::string common(const std::string& of, const std::string& with) {
  std::string labels;
  std::copy_if(of.begin(), of.end(), std::back_inserter(labels),
               [&](char label) { return with.find(label) != std::string::npos; });
  return labels;
}

int64_t size_of(const std::string& labels, const std::string& operand, const Shape& shape) {
  int64_t size = 1;
  for (char label : labels) size *= shape[operand.find(label)];
  return size;
}

// The product that an equation is: labels of the first operand and the result are rows, of the second and the result
// columns, of both operands the contraction. `swapped`: the result is stored as (columns, rows), so the operands change
// places.
struct ProductPlan {
  MatrixProductShape shape;
  bool swapped = false;
};

ProductPlan plan_product(const KernelArguments& arguments) {
  const Equation equation = parse_equation(*arguments.attributes, arguments.inputs.size());
  const std::string &a = equation.operands[0], &b = equation.operands[1], &c = equation.result;
  const std::string rows = common(a, c), columns = common(b, c), contraction = common(a, b);
  const bool a_fits = a == rows + contraction || a == contraction + rows;
  const bool b_fits = b == contraction + columns || b == columns + contraction;
  const bool c_fits = c == rows + columns || c == columns + rows;
  if (!a_fits || !b_fits || !c_fits) {
    throw Failure(Error{"equation",
                        "equation '" + text(*arguments.attributes, "equation") + "' is not one matrix product", "",
                        "the dimensions of rows, columns and contraction must each be neighbours, in the same order "
                        "in both arrays that have them, and no dimension may occur in all three"});
  }
  ProductPlan plan;
  MatrixProductShape& shape = plan.shape;
  shape.operands = arguments.inputs[0].dtype;
  shape.result = arguments.outputs[0].dtype;
  shape.m = size_of(rows, a, arguments.inputs[0].shape);
  shape.n = size_of(columns, b, arguments.inputs[1].shape);
  shape.k = size_of(contraction, a, arguments.inputs[0].shape);
  shape.transpose_a = a != rows + contraction;
  shape.transpose_b = b != contraction + columns;
  plan.swapped = c != rows + columns;
  if (plan.swapped) {
    std::swap(shape.m, shape.n);
    std::swap(shape.transpose_a, shape.transpose_b);
    shape.transpose_a = !shape.transpose_a;
    shape.transpose_b = !shape.transpose_b;
  }
  shape.lda = shape.transpose_a ? shape.m : shape.k;
  shape.ldb = shape.transpose_b ? shape.k : shape.n;
  shape.ldc = shape.n;
  return plan;
}

class EinsumKernel : public Kernel {
 public:
  explicit EinsumKernel(const KernelArguments& arguments) : EinsumKernel(arguments, plan_product(arguments)) {}

  void run(const StepContext&) override { product_.run(left_, right_, result_, workspace_); }

 private:
  EinsumKernel(const KernelArguments& arguments, const ProductPlan& plan)
      : product_(plan.shape, arguments.threads, arguments.workspace_bytes),
        left_(arguments.inputs[plan.swapped ? 1 : 0].data),
        right_(arguments.inputs[plan.swapped ? 0 : 1].data),
        result_(arguments.outputs[0].data),
        workspace_(arguments.workspace) {}

  MatrixProduct product_;
  const void* left_;
  const void* right_;
  void* result_;
  void* workspace_;
};

}  // namespace

std::vector<NamedKernel> einsum_kernels() {
  return {{"einsum", "f32,f32->f32", construct<EinsumKernel>},
          {"einsum", "bf16,bf16->f32", construct<EinsumKernel>},
          {"einsum", "bf16,bf16->bf16", construct<EinsumKernel>}};
}

}  // namespace shardscope
