#include "engine/runtime/calibration.h"

#include <Eigen/QR>
#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "engine/comm/thread_communicator.h"
#include "engine/ops/equation.h"
#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

namespace {

constexpr int collective_ranks = 8;

struct alignas(64) Line {
  float values[16];
};

class FloatArray {
 public:
  explicit FloatArray(Shape shape) : shape_(std::move(shape)), lines_(element_count(shape_) / 16 + 1) {
    for (Line& line : lines_) std::fill_n(line.values, 16, 0.5f);
  }
  TensorView view() { return {lines_.data(), DType::f32, shape_, shape_, Shape(shape_.size())}; }

 private:
  Shape shape_;
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
double op_seconds(const std::string& op, const std::string& equation, const std::vector<Shape>& shapes, int threads) {
  std::vector<FloatArray> arrays(shapes.begin(), shapes.end());
  const Attributes attributes = EquationAttributes{equation};
  std::vector<Line> workspace(static_cast<size_t>(matrix_product_workspace_bytes(8192, 2048, 2048, threads) / 64));
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
      FloatArray array({count});
      CollectivePart part{array.view().data, array.view().data, {count}, DType::f32};
      double own = fastest_seconds(runs, [&] { communicators[static_cast<size_t>(rank)]->all_reduce({&part, 1}); });
      if (rank == 0) seconds = own;
    });
  }
  threads.clear();
  return seconds;
}

TransferRates measure_collectives() {
  std::vector<double> bytes, seconds;
  for (int64_t count = 8; count <= int64_t{1} << 20; count *= 8) {
    bytes.push_back(2.0 * (collective_ranks - 1) / collective_ranks * static_cast<double>(count) * 4);
    seconds.push_back(all_reduce_seconds(count, count < 4096 ? 51 : 7));
  }
  return fit_transfer_rates(bytes, seconds);
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

DeviceProfile calibrate() {
  DeviceProfile profile = host_profile();
  int cores = static_cast<int>(profile.cores);
  constexpr int64_t rows = 4096, width = 512, hidden = 2048;
  double flops = 2.0 * rows * width * hidden;
  double products = op_seconds("einsum", "be,ef->bf", {{rows, width}, {width, hidden}, {rows, hidden}}, cores) +
                    op_seconds("einsum", "bf,ef->be", {{rows, hidden}, {width, hidden}, {rows, width}}, cores) +
                    op_seconds("einsum", "be,bf->ef", {{rows, width}, {rows, hidden}, {width, hidden}}, cores);
  profile.matrix_flops_per_core = 3 * flops / products / cores;
  constexpr int64_t tokens = 8192;
  double addition = op_seconds("add", "be,be->be", {{tokens, hidden}, {tokens, hidden}, {tokens, hidden}}, cores);
  profile.memory_bytes_per_core = 3.0 * 4 * tokens * hidden / addition / cores;
  const TransferRates rates = measure_collectives();
  profile.collective_latency = rates.latency;
  profile.collective_bytes_per_core = collective_ranks / rates.seconds_per_byte / cores;
  profile.name = "calibrated " + std::to_string(cores) + "-core host";
  return profile;
}

}  // namespace shardscope
