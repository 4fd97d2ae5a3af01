#include <fmt/chrono.h>

#include <chrono>

#include "engine/machine/host_machine.h"
#include "engine/ops/equation.h"
#include "engine/runtime/kernels/matrix_product.h"
#include "engine/runtime/measurements.h"
#include "engine/runtime/timed_op.h"

namespace shardscope {

Timing measure_instruction(int cores, double seconds) {
  const TensorType array{{16}};
  return time_op(cores, seconds, bytes_between_uses, "add", EquationAttributes{"e,e->e"}, {array, array}).time;
}

Measurements measure(double seconds) {
  Measurements measured;
  measured.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now()));
  const int cores = measured.cores = standard_host().device.cores;
  MatrixProductShape large{3000, 600, 600, false, false, 600, 600, 600};
  large.operands = large.result = DType::bf16;
  measured.bf16_products = name(matrix_product_method(large));

  double other_work = 0;
  int looks = 0;
  const auto look = [&] {
    other_work += measure_other_work(cores, seconds * 0.015);
    ++looks;
  };
  look();
  measured.instruction = measure_instruction(cores, seconds * 0.02);
  measured.memory = measure_memory(cores, seconds * 0.06);
  look();
  measured.products = measure_products(cores, seconds * 0.4);
  look();
  measured.kernels = measure_kernels(cores, seconds * 0.25);
  look();
  measured.collectives = measure_collectives(seconds * 0.15);
  look();
  measured.other_work = other_work / looks;
  return measured;
}

}  // namespace shardscope
