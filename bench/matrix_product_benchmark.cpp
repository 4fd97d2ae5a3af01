// matrix_product_benchmark: small matrix products by Eigen and by oneDNN on one thread. Where oneDNN's call costs more
// than the product is what `largest_eigen_product` says. `matrix_product_benchmark layers`: the products of layers,
// forward and backward, in turns, in processor time of one thread. $SHARDSCOPE_INSTRUCTION_SET limits both.

#include <fmt/format.h>
#include <time.h>

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

double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// (rows, in) x (in, out), and its two gradients: shares of the forward product's time.
void measure_layer(int64_t rows, int64_t in, int64_t out) {
  Array x(rows * in), w(in * out), y(rows * out);
  struct Product {
    MatrixProductShape shape;
    Array *a, *b, *c;
  };
  const Product products[3] = {
      {{.m = rows, .n = out, .k = in, .lda = in, .ldb = out, .ldc = out}, &x, &w, &y},
      {{.m = rows, .n = in, .k = out, .transpose_b = true, .lda = out, .ldb = out, .ldc = in}, &y, &w, &x},
      {{.m = in, .n = out, .k = rows, .transpose_a = true, .lda = in, .ldb = out, .ldc = out}, &x, &y, &w}};
  std::vector<double> seconds[3];
  for (int round = 0; round < 9; ++round) {
    for (int i = 0; i < 3; ++i) {
      const MatrixProductShape& shape = products[i].shape;
      const int64_t bytes = matrix_product_workspace_bytes(shape.m, shape.n, shape.k, 1);
      Array workspace(bytes / 4);
      MatrixProduct product(shape, 1, bytes);
      const auto run = [&] {
        product.run(products[i].a->data(), products[i].b->data(), products[i].c->data(), workspace.data());
      };
      if (round == 0) run();
      const double start = thread_seconds();
      run();
      seconds[i].push_back(thread_seconds() - start);
    }
  }
  for (auto& times : seconds) std::ranges::nth_element(times, times.begin() + 4);
  const double forward = seconds[0][4];
  fmt::print("({:4}, {:4}) x ({:4}, {:4})  {:5.1f} GFLOP/s  input gradient {:4.2f}  weight gradient {:4.2f}\n", rows,
             in, in, out, 2e-9 * static_cast<double>(rows * in * out) / forward, seconds[1][4] / forward,
             seconds[2][4] / forward);
}

}  // namespace

int main(int argc, char** argv) {
  limit_onednn(machine_instruction_set());
  if (argc > 1 && std::string_view(argv[1]) == "layers") {
    for (const auto& [in, out] : {std::pair{256, 256}, {256, 1024}, {1024, 256}, {256, 512}}) {
      measure_layer(2048, in, out);  // of tiny_lm_dp
    }
    for (const auto& [in, out] : {std::pair{512, 512}, {512, 2048}, {2048, 512}, {512, 1024}}) {
      measure_layer(2048, in, out);  // of parallax_decoder, a quarter of its rows
    }
    return 0;
  }
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
