#include "engine/runtime/calibration.h"

#include <Eigen/QR>
#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "engine/comm/thread_communicator.h"
#include "engine/machine/host_machine.h"
#include "engine/ops/equation.h"
#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/kernels/matrix_product.h"

namespace shardscope {

namespace {

constexpr int collective_ranks = 8;

struct alignas(64) Line {
  float values[16];
};

// Of halves (0.5), where it is f32; of halves and zeros, where it is bf16.
class FloatArray {
 public:
  explicit FloatArray(TensorType type) : type_(std::move(type)), lines_(type_.bytes() / sizeof(Line) + 1) {
    for (Line& line : lines_) std::fill_n(line.values, 16, 0.5f);
  }
  TensorView view() { return {lines_.data(), type_.dtype, type_.shape, type_.shape, Shape(type_.shape.size())}; }

 private:
  TensorType type_;
  std::vector<Line> lines_;
};

template <class Work>
double fastest_seconds(int runs, Work&& work) {
  double fastest = std::numeric_limits<double>::infinity();
  work();
  for (int run = 0; run < runs; ++run) {
    auto start = std::chrono::steady_clock::now();
    work();
    fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return fastest;
}

// Seconds of one op whose operands and result have these shapes.
double op_seconds(const std::string& op, const std::string& equation, const std::vector<Shape>& shapes, int threads,
                  DType dtype = DType::f32) {
  std::vector<FloatArray> arrays;
  for (const Shape& shape : shapes) arrays.emplace_back(TensorType{shape, dtype});
  const Attributes attributes = EquationAttributes{equation};
  const int64_t workspace_bytes = matrix_product_workspace_bytes(8192, 2048, 2048, threads, dtype);
  std::vector<Line> workspace(static_cast<size_t>(workspace_bytes) / sizeof(Line));
  KernelArguments arguments{&attributes,      {arrays[0].view(), arrays[1].view()},        {arrays[2].view()},
                            workspace.data(), static_cast<int64_t>(workspace.size() * 64), threads};
  std::unique_ptr<Kernel> kernel = make_kernel(op, arguments);
  return fastest_seconds(9, [&] { kernel->run({}); });
}

// Seconds of an all-reduce of `count` floats by each of the ranks, as threads.
double all_reduce_seconds(int64_t count, int runs) {
  auto communicators = make_thread_communicators(collective_ranks);
  double seconds = 0;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < collective_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      FloatArray array({{count}});
      CollectivePart part{array.view().data, array.view().data, {count}, DType::f32};
      double own = fastest_seconds(runs, [&] { communicators[static_cast<size_t>(rank)]->all_reduce({&part, 1}); });
      if (rank == 0) seconds = own;
    });
  }
  threads.clear();
  return seconds;
}

constexpr int64_t rows = 4096, width = 512, hidden = 2048;  // of a layer's products

constexpr double product_flops = 3 * 2.0 * rows * width * hidden;
constexpr int64_t added_rows = 8192;
constexpr double added_bytes = 3.0 * 4 * added_rows * hidden;  // read and written

// Seconds of the products of a layer, forward and backward.
double product_seconds(int threads, DType dtype) {
  const auto seconds = [&](const std::string& equation, const std::vector<Shape>& shapes) {
    return op_seconds("einsum", equation, shapes, threads, dtype);
  };
  return seconds("be,ef->bf", {{rows, width}, {width, hidden}, {rows, hidden}}) +
         seconds("bf,ef->be", {{rows, hidden}, {width, hidden}, {rows, width}}) +
         seconds("be,bf->ef", {{rows, width}, {rows, hidden}, {width, hidden}});
}

}  // namespace

TransferRates fit_transfer_rates(std::span<const double> bytes, std::span<const double> seconds) {
  const auto rows = static_cast<Eigen::Index>(bytes.size());
  const Eigen::Map<const Eigen::ArrayXd> size(bytes.data(), rows), time(seconds.data(), rows);
  Eigen::MatrixX2d relative(rows, 2);
  relative << time.inverse().matrix(), (size / time).matrix();
  const Eigen::Vector2d rates = relative.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(rows));
  return {std::max(rates[0], 1e-9), std::max(rates[1], 1e-15)};
}

CalibrationTimes measure_times() {
  CalibrationTimes times;
  times.cores = standard_host().device.cores;
  times.products = product_seconds(times.cores, DType::f32);
  times.products_bf16 = product_seconds(times.cores, DType::bf16);
  MatrixProductShape large{rows, hidden, width, false, false, width, hidden, hidden};
  large.operands = large.result = DType::bf16;
  times.bf16_products = name(matrix_product_method(large));
  const Shape added{added_rows, hidden};
  times.addition = op_seconds("add", "be,be->be", {added, added, added}, times.cores);
  for (int64_t count = 8; count <= int64_t{1} << 20; count *= 8) {
    times.transfer_bytes.push_back(2.0 * (collective_ranks - 1) / collective_ranks * static_cast<double>(count) * 4);
    times.transfer_seconds.push_back(all_reduce_seconds(count, count < 4096 ? 51 : 7));
  }
  return times;
}

Machine machine_of(const CalibrationTimes& times) {
  Machine machine = standard_host();
  const auto cores = static_cast<double>(times.cores);
  Device& device = machine.device;
  device.products[Precision::f32].flops_per_second = product_flops / times.products / cores;
  device.products[Precision::bf16].flops_per_second = product_flops / times.products_bf16 / cores;
  device.bf16_products = times.bf16_products;
  device.memory.back().bytes_per_second = added_bytes / times.addition / cores;
  const TransferRates rates = fit_transfer_rates(times.transfer_bytes, times.transfer_seconds);
  machine.levels.front().latency = rates.latency;
  machine.levels.front().bytes_per_second = collective_ranks / rates.seconds_per_byte / cores;
  machine.name = "calibrated " + std::to_string(times.cores) + "-core host";
  return machine;
}

Machine calibrate() { return machine_of(measure_times()); }

}  // namespace shardscope
