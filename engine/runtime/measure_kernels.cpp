#include "engine/ops/registry.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/measurements.h"
#include "engine/runtime/timed_op.h"

namespace shardscope {

namespace {

std::vector<KernelCase> cases_of(int64_t rows) {
  std::vector<KernelCase> cases;
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (const std::vector<KernelCase>& family : kernel_case_families({rows, dtype})) {
      cases.insert(cases.end(), family.begin(), family.end());
    }
  }
  return cases;
}

}  // namespace

std::vector<KernelTiming> measure_kernels(int cores, double seconds) {
  std::vector<KernelTiming> measured;
  constexpr int64_t few_rows = 48, many_rows = 3072;  // arrays of 60 kB and of 4 MB
  for (int64_t rows : {few_rows, many_rows}) {
    const std::vector<KernelCase> cases = cases_of(rows);
    const double each = seconds / 2 / static_cast<double>(cases.size());
    for (const auto& [op, attributes, operands] : cases) {
      const DType dtype = operands.empty() ? DType::f32 : operands[0].dtype;
      const double apart = op_definition(op).must_be_in_place() ? bytes_between_updates : bytes_between_uses;
      const auto [time, bytes, flops] = time_op(cores, each, apart, op, attributes, operands);
      measured.push_back({op, precision_of(dtype), bytes, flops, time});
    }
  }
  return measured;
}

}  // namespace shardscope
