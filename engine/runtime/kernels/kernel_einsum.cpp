#include "engine/ops/product_layout.h"
#include "engine/runtime/kernels/matrix_product.h"
#include "engine/runtime/kernels/named_kernel.h"

namespace shardscope {

namespace {

// `swapped`: the result is stored as (columns, rows), so the operands change places.
struct ProductPlan {
  MatrixProductShape shape;
  bool swapped = false;
};

ProductPlan plan_product(const KernelArguments& arguments) {
  const Equation& equation = arguments.attributes->as<EquationAttributes>().equation;
  const ProductLayout layout = product_layout(equation);
  const ProductSizes sizes = product_sizes(equation, arguments.inputs[0].shape, arguments.inputs[1].shape);
  ProductPlan plan;
  plan.swapped = layout.transpose_c;
  MatrixProductShape& shape = plan.shape;
  shape.operands = arguments.inputs[0].dtype;
  shape.result = arguments.outputs[0].dtype;
  shape.m = plan.swapped ? sizes.n : sizes.m;
  shape.n = plan.swapped ? sizes.m : sizes.n;
  shape.k = sizes.k;
  shape.transpose_a = plan.swapped ? !layout.transpose_b : layout.transpose_a;
  shape.transpose_b = plan.swapped ? !layout.transpose_a : layout.transpose_b;
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
