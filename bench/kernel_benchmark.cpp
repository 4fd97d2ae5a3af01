// kernel_benchmark: attention and layer norm, forward and backward, beside what they consist of: for attention its
// matrix products alone, at the rate of a large one, for layer norm a sum of the arrays that it reads. In turns, in
// processor time of one thread, medians. $SHARDSCOPE_INSTRUCTION_SET limits all.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/vector_versions.h"
#include "engine/ops/attention.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/kernels/serial_product.h"

namespace {

using namespace shardscope;

constexpr int rounds = 15;

struct alignas(64) Line {
  float values[16];
};

// An array of normal numbers, aligned as in an arena.
struct Array {
  explicit Array(Shape dimensions, float factor = 1, float offset = 0) : shape(std::move(dimensions)) {
    const int64_t count = element_count(shape);
    lines.resize(static_cast<size_t>(count / 16 + 1));
    uint32_t state = 12345;
    for (int64_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int j = 0; j < 4; ++j) {
        state = state * 1664525u + 1013904223u;
        sum += static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
      }
      data()[i] = sum * 1.7f * factor + offset;
    }
  }
  float* data() { return lines[0].values; }
  TensorView view() { return {data(), DType::f32, shape, shape, Shape(shape.size(), 0)}; }

  Shape shape;
  std::vector<Line> lines;
};

double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Median seconds of each of these, run in turns.
std::vector<double> measure(const std::vector<std::function<void()>>& runs) {
  std::vector<std::vector<double>> seconds(runs.size());
  for (int round = -1; round < rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const double start = thread_seconds();
      runs[i]();
      if (round >= 0) seconds[i].push_back(thread_seconds() - start);
    }
  }
  std::vector<double> medians;
  for (auto& times : seconds) {
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    medians.push_back(times[rounds / 2]);
  }
  return medians;
}

std::unique_ptr<Kernel> make(std::string_view op, const Attributes& attributes, std::vector<Array*> inputs,
                             std::vector<Array*> outputs, Array& workspace) {
  KernelArguments arguments{.attributes = &attributes,
                            .inputs = {},
                            .outputs = {},
                            .workspace = workspace.data(),
                            .workspace_bytes = static_cast<int64_t>(workspace.lines.size() * sizeof(Line))};
  for (Array* input : inputs) arguments.inputs.push_back(input->view());
  for (Array* output : outputs) arguments.outputs.push_back(output->view());
  return make_kernel(op, std::move(arguments));
}

void measure_attention(int64_t batch, int64_t length, int64_t heads, int64_t size, bool causal) {
  const Shape shape{batch, length, heads, size};
  Array q(shape), k(shape), v(shape), context(shape), lse({batch, heads, length}), dcontext(shape), dq(shape),
      dk(shape), dv(shape);
  const int64_t bytes = attention_workspace_bytes(length, length, size, 1);
  Array workspace({bytes / 4});
  const Attributes attributes = AttentionAttributes{.causal = causal};
  const auto forward = make("attention", attributes, {&q, &k, &v}, {&context, &lse}, workspace);
  const auto backward =
      make("attention_grad", attributes, {&q, &k, &v, &context, &lse, &dcontext}, {&dq, &dk, &dv}, workspace);

  constexpr int64_t large = 512;
  Array a({large, large}), b({large, large}), c({large, large});
  const int64_t product_bytes = matrix_product_workspace_bytes(large, large, large, 1);
  Array product_workspace({product_bytes / 4});
  MatrixProduct product({.m = large, .n = large, .k = large, .lda = large, .ldb = large, .ldc = large}, 1,
                        product_bytes);
  const double product_flops = 2.0 * large * large * large;
  const auto times = measure({[&] { forward->run({}); }, [&] { backward->run({}); },
                              [&] { product.run(a.data(), b.data(), c.data(), product_workspace.data()); }});
  const double pair = 2.0 * static_cast<double>(batch * heads * length * length * size) / product_flops * times[2];
  fmt::print(
      "attention ({:2}, {:4}, {:2}, {:3}){}  forward {:8.3f} ms, {:4.2f} of its products  backward {:8.3f} ms, "
      "{:4.2f}\n",
      batch, length, heads, size, causal ? " causal" : "       ", 1e3 * times[0], times[0] / (2 * pair), 1e3 * times[1],
      times[1] / (5 * pair));
}

constexpr auto sum_of_both = vector_versions([](const float* a, const float* b, int64_t count) -> float {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += a[i] + b[i];
  return sum;
});

constexpr auto add_both = vector_versions([](const float* a, const float* b, int64_t count, float* c) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
});

void measure_layer_norm(int64_t rows, int64_t columns) {
  Array x({rows, columns}), dy({rows, columns}), sums({rows, 1}), squares({rows, 1}, 0.1f, static_cast<float>(columns)),
      scale({columns}), g1({rows, 1}), g2({rows, 1}), dx({rows, columns}), dscale({columns}), dbias({columns});
  const int64_t bytes = column_sums_workspace_bytes(rows, columns, 2);
  Array workspace({bytes / 4});
  const Attributes attributes = LayerNormAttributes{.epsilon = 1e-6, .features = columns};
  const auto moments =
      make("layer_norm_grad_moments", attributes, {&dy, &x, &sums, &squares, &scale}, {&g1, &g2}, workspace);
  const auto input =
      make("layer_norm_grad_input", attributes, {&dy, &x, &sums, &squares, &scale, &g1, &g2}, {&dx}, workspace);
  const auto parameters =
      make("layer_norm_grad_parameters", attributes, {&dy, &x, &sums, &squares}, {&dscale, &dbias}, workspace);
  float sum = 0;
  const auto times = measure({[&] { moments->run({}); }, [&] { input->run({}); }, [&] { parameters->run({}); },
                              [&] { sum += sum_of_both(x.data(), dy.data(), rows * columns); },
                              [&] { add_both(x.data(), dy.data(), rows * columns, dx.data()); }});
  fmt::print(
      "layer norm ({:5}, {:4})  gradients of its moments {:7.3f} ms, {:4.2f} of reading both arrays, of its "
      "parameters {:7.3f} ms, {:4.2f}, of its input {:7.3f} ms, {:4.2f} of adding both{}\n",
      rows, columns, 1e3 * times[0], times[0] / times[3], 1e3 * times[2], times[2] / times[3], 1e3 * times[1],
      times[1] / times[4], sum == 0 ? " " : "");
}

}  // namespace

int main() {
  limit_onednn(machine_instruction_set());
  fmt::print("{}, one thread, medians of {} rounds\n", name(machine_instruction_set()), rounds);
  for (bool causal : {false, true}) {
    measure_attention(32, 64, 8, 32, causal);  // of tiny_lm_dp
    measure_attention(8, 128, 8, 64, causal);
    measure_attention(2, 512, 8, 64, causal);
    measure_attention(1, 1024, 4, 128, causal);
  }
  measure_layer_norm(2048, 256);  // of tiny_lm_dp
  measure_layer_norm(2048, 512);
  measure_layer_norm(8192, 512);
}
