#include <QtTest>
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>

#include "engine/ops/dispatch.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/top_k.h"
#include "engine/runtime/kernels/storage.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace kernel_experts_test {

using namespace shardscope;
using namespace shardscope::testing;

namespace {

constexpr int64_t experts = 5;

struct Operand {
  Shape shape;
  std::vector<float> values;
};

// An op of experts on rows, what says where they belong, and, of products, kernels or cotangents.
struct ExpertCase {
  std::string op;
  Attributes attributes;
  Operand rows;
  std::vector<std::pair<Shape, std::vector<int32_t>>> places;
  std::optional<Operand> others;
  Shape result;

  std::vector<float> run(DType operands, DType to, int threads) const {
    KernelCase test(op, attributes);
    const auto add = [&](const Operand& operand) {
      std::vector<float> values = operand.values;
      for (float& value : values) value = to_float(to_bfloat16(value));
      if (operands == DType::bf16) test.bf16_input(operand.shape, values);
      else test.input(operand.shape, values);
    };
    add(rows);
    for (const auto& [shape, values] : places) test.input(shape, values);
    if (others) add(*others);
    test.output(result, to).run(threads);
    if (!test.guards_intact) throw std::runtime_error("it writes outside of its workspace");
    return test.result();
  }
};

struct Sizes {
  int64_t entries, in, out;
};

// Where all choose the last expert but some.
std::vector<int32_t> uneven(Random& random, int64_t count) {
  std::vector<int32_t> choices = random.integers(count, 0, 4 * experts);
  for (int32_t& choice : choices) choice = std::min<int32_t>(choice, experts - 1);
  return choices;
}

// Products: each of a slot alone, and of rows that two slots share; and of groups with rows behind them.
std::vector<ExpertCase> products(Random& random, const Sizes& sizes) {
  const auto [entries, in, out] = sizes;
  const auto normals = [&](Shape shape) { return Operand{shape, random.normals(element_count(shape))}; };
  const Shape choices{1, entries / 2, 2}, kernels{experts, out, in};
  const std::vector<std::pair<Shape, std::vector<int32_t>>> chosen{{choices, uneven(random, entries)}};
  const ExpertLinearAttributes plain{experts, false}, transposed{experts, true};
  std::vector<ExpertCase> cases{
      {"expert_linear", plain, normals({1, entries / 2, in}), chosen, normals(kernels), {1, entries / 2, 2, out}},
      {"expert_linear",
       transposed,
       normals({1, entries / 2, 2, out}),
       chosen,
       normals(kernels),
       {1, entries / 2, 2, in}},
      {"expert_linear_grad", plain, normals({1, entries / 2, in}), chosen, normals({1, entries / 2, 2, out}), kernels}};
  std::vector<int32_t> counts(2 * experts);
  for (int block : {0, 1}) {
    for (int32_t choice : uneven(random, entries / 2 - 3)) ++counts[static_cast<size_t>(block * experts + choice)];
  }
  const std::vector<std::pair<Shape, std::vector<int32_t>>> counted{{{2, 1, experts}, counts}};
  const GroupedLinearAttributes forward{}, back{true, 1};
  const Shape x{2, 1, entries / 2, in}, y{2, 1, entries / 2, out};
  cases.push_back({"grouped_linear", forward, normals(x), counted, normals(kernels), y});
  cases.push_back({"grouped_linear", back, normals(y), counted, normals(kernels), x});
  cases.push_back({"grouped_linear_grad", forward, normals(x), counted, normals(y), kernels});
  return cases;
}

std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) value = to_float(to_bfloat16(value));
  return values;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

double apart(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference(a.size());
  for (size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm_of(difference) / norm_of(b);
}

}  // namespace

class KernelExpertsTest : public QObject {
  Q_OBJECT

 private slots:
  // As transformers has it since its pull request 45441, and DeepSeek: what is masked is below every score, also below
  // those that a negative bias makes negative.
  void experts_of_groups_that_are_not_chosen_are_not_chosen_under_any_bias() {
    constexpr int64_t rows = 50, all = 8, groups = 4, size = all / groups;
    const TopKAttributes choice{
        .score = TopKAttributes::Score::sigmoid, .k = 3, .normalise = true, .groups = groups, .chosen_groups = 2};
    Random random(7);
    const std::vector<float> logits = random.normals(rows * all);
    for (float level : {-100.0f, -2.0f, -0.5f, 0.0f, 3.0f}) {
      std::vector<float> bias = random.normals(all, 0.1f);
      for (float& value : bias) value += level;
      KernelCase test("top_k", choice);
      test.input({1, rows, all}, logits).input({all}, bias);
      test.output({1, rows, choice.k}, DType::i32).output({1, rows, choice.k}).run();
      const std::vector<int32_t> chosen = test.integers(0);
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<float> compared;
        for (int64_t e = 0; e < all; ++e)
          compared.push_back(1 / (1 + std::exp(-logits[static_cast<size_t>(row * all + e)])) +
                             bias[static_cast<size_t>(e)]);
        std::vector<std::pair<float, int64_t>> sums;
        for (int64_t g = 0; g < groups; ++g) sums.emplace_back(compared[g * size] + compared[g * size + 1], g);
        std::ranges::sort(sums, std::greater());
        for (int64_t i = 0; i < choice.k; ++i) {
          const int64_t group = chosen[static_cast<size_t>(row * choice.k + i)] / size;
          QVERIFY(group == sums[0].second || group == sums[1].second);
        }
      }
    }
  }

  // Of few rows, of several blocks of them, and so wide that gradients are summed in parts.
  void products_of_bf16_are_those_of_the_rounded_operands_rounded_once() {
    Random random(5);
    for (const Sizes& sizes : {Sizes{24, 7, 5}, Sizes{150, 33, 40}, Sizes{1400, 40, 72}, Sizes{700, 96, 600}}) {
      for (const ExpertCase& one : products(random, sizes)) {
        for (int threads : {1, 2}) {
          const std::vector<float> f32 = one.run(DType::f32, DType::f32, threads);
          ExpertCase wide = one;
          wide.attributes = op_definition(one.op).with_f32_result(one.attributes);
          const double of_sums = apart(wide.run(DType::bf16, DType::f32, threads), f32);
          QVERIFY2(of_sums < 1e-6, (one.op + " " + std::to_string(of_sums)).c_str());
          const double once = apart(one.run(DType::bf16, DType::bf16, threads), rounded(f32));
          QVERIFY2(once < 1e-4, (one.op + " " + std::to_string(once)).c_str());
        }
      }
    }
  }

  void rows_travel_in_bf16_as_they_are_and_are_summed_in_f32() {
    Random random(6);
    constexpr int64_t tokens = 40, k = 3, width = 19;
    const DispatchAttributes blocks{.experts = experts, .rows = 70}, summed{experts, 1, 1, 1, 70, true};
    const std::vector<int32_t> choices = uneven(random, tokens * k);
    KernelCase counting("expert_counts", blocks);
    counting.input({1, tokens, k}, choices).output({1, 1, experts}, DType::i32).output({}).run();
    const std::vector<std::pair<Shape, std::vector<int32_t>>> places{{{1, tokens, k}, choices},
                                                                     {{1, 1, experts}, counting.integers()}};
    const Operand x{{1, tokens, width}, random.normals(tokens * width)};
    const Operand rows{{1, 1, 70, width}, random.normals(70 * width)};
    const std::vector<ExpertCase> cases{{"dispatch", blocks, x, places, {}, rows.shape},
                                        {"combine", blocks, rows, places, {}, {1, tokens, k, width}},
                                        {"combine", summed, rows, places, {}, x.shape}};
    for (const ExpertCase& one : cases) {
      QCOMPARE(one.run(DType::bf16, DType::bf16, 2), rounded(one.run(DType::f32, DType::f32, 1)));
    }
  }
};

REGISTER_TEST(KernelExpertsTest)

}  // namespace kernel_experts_test

#include "kernel_experts_test.moc"
