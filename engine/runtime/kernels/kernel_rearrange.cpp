#include "engine/graph/factor_rule.h"
#include "engine/ops/equation.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/rearrangement.h"

namespace shardscope {

namespace {

// The part of a factor that is held here, from the parts of the dimensions: where a dimension of several factors is
// split, its major factors are.
Shape held_sizes(const FactorRule& rule, const KernelArguments& arguments) {
  Shape sizes;
  for (const Factor& factor : rule.factors) sizes.push_back(factor.size);
  const TensorView& x = arguments.inputs[0];
  for (size_t d = 0; d < x.shape.size(); ++d) {
    int64_t parts = x.shape[d] == 0 ? 1 : x.global_shape[d] / x.shape[d];
    for (int factor : rule.operands[0][d]) {
      const int64_t taken = std::min(parts, sizes[factor]);
      sizes[factor] /= taken;
      parts /= taken;
    }
  }
  return sizes;
}

std::vector<int> order(const std::vector<DimensionFactors>& dimensions) {
  std::vector<int> factors;
  for (const DimensionFactors& dimension : dimensions)
    factors.insert(factors.end(), dimension.begin(), dimension.end());
  return factors;
}

class RearrangeKernel : public Kernel {
 public:
  explicit RearrangeKernel(const KernelArguments& arguments) : RearrangeKernel(arguments, rule_of(arguments)) {}

  void run(const StepContext&) override { rearrangement_.run(from_, to_, threads_); }

 private:
  RearrangeKernel(const KernelArguments& arguments, const FactorRule& rule)
      : rearrangement_(held_sizes(rule, arguments), order(rule.operands[0]), order(rule.results[0]),
                       byte_size(arguments.inputs[0].dtype)),
        from_(arguments.inputs[0].data),
        to_(arguments.outputs[0].data),
        threads_(arguments.threads) {}

  static FactorRule rule_of(const KernelArguments& arguments) {
    const EquationAttributes& given = arguments.attributes->as<EquationAttributes>();
    const TensorType whole{arguments.inputs[0].global_shape, arguments.inputs[0].dtype};
    return make_rule({given.equation.operands, {given.equation.result}, "", true, {}, given.sizes}, {&whole, 1});
  }

  Rearrangement rearrangement_;
  const void* from_;
  void* to_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> rearrange_kernels() {
  return {{"rearrange", "f32->f32", construct<RearrangeKernel>},
          {"rearrange", "bf16->bf16", construct<RearrangeKernel>},
          {"rearrange", "i32->i32", construct<RearrangeKernel>}};
}

std::vector<KernelCase> rearrange_kernel_cases(const CaseSizes& sizes) {
  return {{"rearrange", EquationAttributes{"r(hd)->rhd", {{'h', CaseSizes::heads}}}, {sizes.x()}}};
}

}  // namespace shardscope
