#include <QtTest>
#include <cmath>

#include <limits>

#include "engine/shard/placement.h"
#include "tests/laws/whole_graph.h"
#include "tests/ops/op_case.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

// An op with operands small enough to split in every way on a 2 x 2 mesh (and unequal, so that mixed-up dimensions
// show).
std::vector<OpCase> cases() {
  const LayerNormAttributes norm{1e-6, 16};
  const StepKey step_key{key_from_seed(7), 1, 0, 12345};
  const AttentionAttributes causal{true, {}}, open{false, {}}, dropping{true, {0.3, step_key}};
  const ScaleAttributes mean{1.0 / 32};
  const TensorType x = array({4, 8, 16}), row = array({4, 8}), ids = tokens({4, 8}), scalar = array({});
  const TensorType q = array({4, 8, 4, 12}), k = q, lse = array({4, 4, 8}), logits = array({4, 8, 24});
  const TensorType two = array({4, 8, 2, 12}), one = array({4, 8, 1, 12}), features = array({16});
  using Kind = InitialiseAttributes::Kind;
  std::vector<OpCase> all{
      {"embedding", {ids, array({24, 16})}, {}, {}},
      {"embedding_grad", {ids, x}, EmbeddingGradAttributes{24}, {}},
      {"einsum", {x, array({16, 4, 12})}, equation("bse,ehd->bshd"), {}},
      {"einsum", {q, array({4, 12, 16})}, equation("bshd,hde->bse"), {}},
      {"einsum", {q, array({16, 4, 12})}, equation("bshd,ehd->bse"), {}},
      {"einsum", {x, q}, equation("bse,bshd->ehd"), {}},
      {"add", {x, features}, equation("bse,e->bse"), {}},
      {"add", {x, array({8, 16})}, equation("bse,se->bse"), {}},
      {"add", {x, x}, equation("bse,bse->bse"), {}},
      {"reduce_sum", {x}, equation("bse->e"), {}},
      {"reduce_sum", {x}, equation("bse->se"), {}},
      {"reduce_sum", {q}, equation("bshd->hd"), {}},
      {"rearrange", {array({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 4}}), {}},
      {"rearrange", {array({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 2}}), {}},
      {"rearrange", {q}, equation("bshd->bs(hd)"), {}},
      {"rearrange", {q}, equation("bshd->bhsd"), {}},
      {"rearrange", {q}, equation("bshd->(bs)(dh)"), {}},
      {"rearrange", {array({4, 8, 6, 2})}, equation("bhwc->b(hwc)"), {}},
      {"rearrange", {ids}, equation("bs->sb"), {}},
      {"rearrange", {half({4, 8, 48})}, equation("bs(hd)->bshd", {{'h', 4}}), {}},
      {"scale", {x}, ScaleAttributes{-2.5}, {}},
      {"cast", {x}, CastAttributes{DType::bf16}, {}},
      {"cast", {half({4, 8, 16})}, CastAttributes{DType::f32}, {}},
      {"constant", {}, ConstantAttributes{1.5, x}, {}},
      {"gelu", {x}, {}, {}},
      {"gelu_grad", {x, x}, {}, {}},
      {"layer_norm_moments", {x}, {}, {}},
      {"layer_norm", {x, row, row, features, features}, norm, {}},
      {"layer_norm_grad_moments", {x, x, row, row, features}, norm, {}},
      {"layer_norm_grad_input", {x, x, row, row, features, row, row}, norm, {}},
      {"layer_norm_grad_parameters", {x, x, row, row}, norm, {}},
      {"dropout", {x}, DropoutAttributes{0.3, step_key}, {}},
      {"row_max", {logits}, {}, {}},
      {"cross_entropy_terms", {logits, ids, row}, {}, {}},
      {"cross_entropy_terms_grad", {logits, ids, row, row, row}, {}, {}},
      {"cross_entropy", {row, row, row, ids, ids}, mean, {}},
      {"cross_entropy", {row, row, row, ids, ids, row}, mean, {}},
      {"cross_entropy_grad", {row, scalar}, mean, {}},
      {"cross_entropy_grad", {row, scalar, row}, mean, {}},
      {"squared_error", {x, x}, mean, {}},
      {"squared_error_grad", {x, x, scalar}, mean, {}},
      {"adam", {array({8, 16}), array({8, 16}), array({8, 16}), array({8, 16})}, AdamAttributes{}, {}},
  };
  for (Kind kind : {Kind::constant, Kind::normal, Kind::truncated_normal, Kind::uniform}) {
    all.push_back({"initialise", {}, InitialiseAttributes{kind, 0.02, key_from_seed(5), x}, {}});
    all.push_back({"initialise", {}, InitialiseAttributes{kind, 0.02, key_from_seed(5), array({12})}, {}});
  }
  // Each key head serves one, two or all four query heads.
  for (const TensorType& key : {k, two, one}) {
    for (const AttentionAttributes& attributes : {causal, open, dropping}) {
      all.push_back({"attention", {q, key, key}, attributes, {}});
      all.push_back({"attention", {q, key, key, ids, ids}, attributes, {}});
      all.push_back({"attention_grad", {q, key, key, q, lse, q}, attributes, {}});
      all.push_back({"attention_grad", {q, key, key, q, lse, q, ids, ids}, attributes, {}});
    }
  }
  return all;
}

// Results of which every part has the whole's bits.
bool is_exact(const std::string& op) {
  return op == "constant" || op == "initialise" || op == "rearrange" || op == "cast" || op == "row_max";
}

// What the operand may hold: sums of squares and of exponentials are positive, log-sum-exps are above the scores.
std::pair<double, double> range(const std::string& op, size_t operand) {
  const bool squares = (op.starts_with("layer_norm") && op != "layer_norm_moments" &&
                        operand == (op.find("grad") != std::string::npos ? 3u : 2u)) ||
                       (op == "adam" && operand == 3);
  if (squares) return {8, 16};
  const bool exponentials = (op == "cross_entropy" && operand == 1) || (op == "cross_entropy_grad" && operand == 0);
  if (exponentials || (op == "attention_grad" && operand == 4)) return {3, 4};
  return {-1, 1};
}

int32_t random_integer(const std::string& op, size_t operand, std::mt19937& random) {
  if (op.starts_with("attention")) return static_cast<int32_t>(random() % 3);  // 0 is masked
  if (op == "cross_entropy") return static_cast<int32_t>(random() % 3) * (operand == 3 ? -1 : 1);
  return static_cast<int32_t>(random() % 24);
}

std::vector<TestArray> random_operands(const OpCase& c) {
  std::mt19937 random(11);
  std::vector<TestArray> arrays;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const TensorType& type = c.operands[i];
    arrays.emplace_back(type.bytes());
    const auto [low, high] = range(c.op, i);
    std::uniform_real_distribution<float> uniform(static_cast<float>(low), static_cast<float>(high));
    const bool integers = type.dtype == DType::i32;
    for (int64_t e = 0; e < element_count(type.shape); ++e) {
      arrays.back().set(type.dtype, e, integers ? random_integer(c.op, i, random) : uniform(random));
    }
  }
  if (c.op == "cross_entropy_terms" || c.op == "cross_entropy_terms_grad") {
    float* top = arrays[c.op == "cross_entropy_terms" ? 2 : 4].f32();
    const int64_t columns = c.operands[0].shape.back();
    for (int64_t row = 0; row < element_count(c.operands[1].shape); ++row) {
      top[row] = *std::max_element(arrays[0].f32() + row * columns, arrays[0].f32() + (row + 1) * columns);
    }
  }
  return arrays;
}

// Copies the part `box` of a whole array out of it, or adds the part into it.
template <class Visit>
void for_each_element(const Box& box, const Shape& shape, Visit visit) {
  std::vector<int64_t> at(shape.size());
  int64_t count = element_count(box.size);
  for (int64_t local = 0; local < count; ++local) {
    int64_t rest = local, global = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      at[d] = box.start[d] + rest % box.size[d];
      rest /= box.size[d];
    }
    for (size_t d = 0; d < shape.size(); ++d) global = global * shape[d] + at[d];
    visit(local, global);
  }
}

TensorView part_view(TestArray& array, const TensorType& type, const Box& box) {
  return {array.data(), type.dtype, box.size, type.shape, box.start};
}

}  // namespace

class OpPlacementTest : public QObject {
  Q_OBJECT

 private slots:
  void every_op_has_a_case() {
    for (const OpDefinition* definition : all_op_definitions()) {
      bool found = false;
      for (const OpCase& c : cases()) found |= c.op == definition->name();
      QVERIFY2(found, std::string(definition->name()).c_str());
    }
  }

  // Law 2: run on each device of a 2 x 2 mesh in every legal placement, the parts reassemble to the whole result.
  void parts_reassemble_to_the_whole_data() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const OpCase& c : cases()) {
      QTest::newRow((std::to_string(index) + " " + c.op).c_str()) << index;
      ++index;
    }
  }
  void parts_reassemble_to_the_whole() {
    QFETCH(int, index);
    const OpCase c = cases()[static_cast<size_t>(index)];
    if (!has_kernel(c.op)) QSKIP("it has no kernel, which runtime/kernel_elementwise tells");
    const std::vector<TensorType> result_types = c.results();
    std::vector<TestArray> operands = random_operands(c), wholes;
    std::vector<TensorView> inputs, outputs;
    for (size_t i = 0; i < operands.size(); ++i) inputs.push_back(whole_view(operands[i], c.operands[i]));
    for (const TensorType& type : result_types) wholes.emplace_back(type.bytes());
    for (size_t i = 0; i < wholes.size(); ++i) outputs.push_back(whole_view(wholes[i], result_types[i]));
    run_kernel(c.definition(), c.attributes, inputs, outputs);

    Mesh mesh({{"x", 2}, {"y", 2}});
    const FactorRule rule = c.rule();
    std::vector<Placement> placements = legal_placements(rule, mesh, {0, 1});
    std::vector<Placement> reversed = legal_placements(rule, mesh, {1, 0});
    placements.insert(placements.end(), reversed.begin(), reversed.end());
    QVERIFY(placements.size() > 2);
    for (const Placement& placement : placements) {
      check(c, rule, placement, mesh, result_types, operands, wholes);
      if (QTest::currentTestFailed()) return;
    }
  }

 private:
  void check(const OpCase& c, const FactorRule& rule, const Placement& placement, const Mesh& mesh,
             const std::vector<TensorType>& result_types, const std::vector<TestArray>& operands,
             const std::vector<TestArray>& wholes) {
    std::vector<std::vector<double>> totals;
    for (size_t i = 0; i < result_types.size(); ++i) {
      const double nothing = rule.reductions[i] == Reduction::max ? -std::numeric_limits<double>::infinity() : 0.0;
      totals.emplace_back(static_cast<size_t>(element_count(result_types[i].shape)), nothing);
    }
    for (int device = 0; device < mesh.device_count(); ++device) {
      std::vector<TestArray> parts, results;
      std::vector<TensorView> inputs, outputs;
      for (size_t i = 0; i < operands.size(); ++i) {
        const TensorType& type = c.operands[i];
        Sharding sharding = operand_sharding(rule, placement, static_cast<int>(i));
        Box box = shard_box(sharding, mesh, type.shape, device);
        parts.emplace_back(element_count(box.size) * byte_size(type.dtype));
        // A partial operand is split 0.6 / 0.4 along each axis over which it is partial.
        double share = 1;
        for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
          if ((sharding.partial >> axis) & 1) share *= mesh.coordinate(device, axis) == 0 ? 0.6 : 0.4;
        }
        if (!is_float(type.dtype)) share = device == 0 || sharding.partial == 0 ? 1 : 0;
        for_each_element(box, type.shape, [&](int64_t local, int64_t global) {
          parts.back().set(type.dtype, local, share * operands[i].get(type.dtype, global));
        });
        inputs.push_back({nullptr, type.dtype, box.size, type.shape, box.start});
      }
      for (size_t i = 0; i < parts.size(); ++i) inputs[i].data = parts[i].data();
      std::vector<Box> boxes;
      for (size_t i = 0; i < result_types.size(); ++i) {
        boxes.push_back(
            shard_box(result_sharding(rule, placement, static_cast<int>(i)), mesh, result_types[i].shape, device));
        results.emplace_back(element_count(boxes.back().size) * byte_size(result_types[i].dtype));
      }
      for (size_t i = 0; i < results.size(); ++i) outputs.push_back(part_view(results[i], result_types[i], boxes[i]));
      run_kernel(c.definition(), c.attributes, inputs, outputs);
      for (size_t i = 0; i < results.size(); ++i)
        add_part(rule, placement, mesh, device, i, boxes[i], result_types[i], results[i], totals[i]);
    }
    for (size_t i = 0; i < totals.size(); ++i) {
      const DType dtype = result_types[i].dtype;
      double scale = 1e-3;
      for (size_t e = 0; e < totals[i].size(); ++e) scale = std::max(scale, std::abs(wholes[i].get(dtype, e)));
      // Summands of bf16 are rounded each for itself.
      const double rounding = dtype == DType::bf16 ? 1e-2 : 2e-5;
      const bool exact = (is_exact(c.op) && placement.partial == 0) || dtype == DType::i32;
      for (size_t e = 0; e < totals[i].size(); ++e) {
        const double whole = wholes[i].get(dtype, static_cast<int64_t>(e)), difference = std::abs(totals[i][e] - whole);
        QVERIFY2(
            difference <= (exact ? 0 : rounding * scale),
            qPrintable(QString("result %1 element %2: %3 instead of %4").arg(i).arg(e).arg(totals[i][e]).arg(whole)));
      }
    }
  }

  // Devices that hold the same part count once; parts of partial results add up, or their maximum is taken.
  static void add_part(const FactorRule& rule, const Placement& placement, const Mesh& mesh, int device, size_t result,
                       const Box& box, const TensorType& type, const TestArray& part, std::vector<double>& total) {
    Sharding sharding = result_sharding(rule, placement, static_cast<int>(result));
    uint8_t used = sharding.used_axes();
    for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
      if (!((used >> axis) & 1) && mesh.coordinate(device, axis) != 0) return;
    }
    for_each_element(box, type.shape, [&](int64_t local, int64_t global) {
      double& element = total[static_cast<size_t>(global)];
      const double value = part.get(type.dtype, local);
      element = rule.reductions[result] == Reduction::max ? std::max(element, value) : element + value;
    });
  }
};

QTEST_APPLESS_MAIN(OpPlacementTest)
#include "op_placement_test.moc"
