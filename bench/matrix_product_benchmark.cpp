// matrix_product_benchmark: small matrix products by Eigen and by oneDNN on one thread. Where oneDNN's call costs more
// than the product is what `largest_eigen_product` says.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/serial_product.h"

namespace {

using namespace shardscope;

struct alignas(64) Line {
  float values[16];
};

struct Array {
  explicit Array(int64_t count) : lines(static_cast<size_t>(count / 16 + 1)) {
    for (Line& line : lines) std::fill_n(line.values, 16, 0.5f);
  }
  float* data() { return lines[0].values; }
  std::vector<Line> lines;
};

double fastest_microseconds(SerialProduct& product, Array& a, Array& b, Array& c, Array& workspace) {
  double fastest = 1e30;
  for (int round = 0; round < 30; ++round) {
    constexpr int runs = 100;
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < runs; ++run) product.run(a.data(), b.data(), c.data(), workspace.data());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, took.count() / runs);
  }
  return fastest;
}

void measure(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b) {
  const MatrixProductShape shape{.m = m,
                                 .n = n,
                                 .k = k,
                                 .transpose_a = transpose_a,
                                 .transpose_b = transpose_b,
                                 .lda = transpose_a ? m : k,
                                 .ldb = transpose_b ? k : n,
                                 .ldc = n};
  const int64_t bytes = matrix_product_workspace_bytes(m, n, k, 1);
  Array a(m * k), b(k * n), c(m * n), workspace(bytes / 4);
  const double eigen = fastest_microseconds(*make_eigen_product(shape, bytes), a, b, c, workspace);
  fmt::print("({:4}, {:4}){} x ({:4}, {:4}){} {:7} elements  Eigen {:8.2f} us", m, k, transpose_a ? "T" : " ", k, n,
             transpose_b ? "T" : " ", m * k + k * n + m * n, eigen);
  if (has_onednn()) {
    const double onednn = fastest_microseconds(*make_onednn_product(shape, m >= 256, bytes), a, b, c, workspace);
    fmt::print("  oneDNN {:8.2f} us  ratio {:5.2f}", onednn, eigen / onednn);
  }
  fmt::print("\n");
}

}  // namespace

int main() {
  for (int64_t size : {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128}) measure(size, size, size, false, false);
  for (int64_t rows : {16, 64, 256, 1024}) {
    measure(rows, 32, 1, false, false);
    measure(rows, 1, 32, false, false);
    measure(rows, 32, 1, false, true);
    measure(1, 32, rows, true, false);
    measure(32, 1, rows, true, false);
    measure(rows, 32, 32, false, false);
    measure(rows, 32, 32, false, true);
    measure(32, 32, rows, true, false);
  }
}
