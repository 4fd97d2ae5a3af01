#include <QtTest>
#include <cmath>

#include "engine/ops/registry.h"
#include "engine/shard/placement.h"
#include "tests/laws/whole_graph.h"

using namespace shardscope;

namespace {

// An op with operands small enough to split in every way on a 2 x 2 mesh (and unequal, so that mixed-up dimensions
// show).
struct Case {
  std::string op;
  std::vector<Shape> operands;
  Attributes attributes;
};

std::vector<Case> cases() {
  const Attributes norm{{"epsilon", 1e-6}, {"features", int64_t{16}}};
  const Attributes attention{{"causal", int64_t{1}}, {"padding", int64_t{1}}, {"dropout_rate", 0.0}};
  Attributes dropping = attention;
  dropping["dropout_rate"] = 0.3;
  dropping["seed"] = int64_t{7};
  dropping["dropout_fold"] = int64_t{12345};
  const Attributes dropout{{"dropout_rate", 0.3}, {"seed", int64_t{7}}, {"dropout_fold", int64_t{12345}}};
  const Attributes adam{{"learning_rate", 1e-3}, {"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-8}};
  const Shape x{4, 8, 16}, row{4, 8}, q{4, 8, 4, 12}, k{4, 8, 4, 12}, lse{4, 4, 8};
  return {
      {"embedding", {{4, 8}, {24, 16}}, {}},
      {"embedding_grad", {{4, 8}, x}, {{"vocabulary", int64_t{24}}}},
      {"einsum", {x, {16, 4, 12}}, {{"equation", std::string("bse,ehd->bshd")}}},
      {"einsum", {q, {4, 12, 16}}, {{"equation", std::string("bshd,hde->bse")}}},
      {"einsum", {q, {16, 4, 12}}, {{"equation", std::string("bshd,ehd->bse")}}},
      {"einsum", {x, q}, {{"equation", std::string("bse,bshd->ehd")}}},
      {"add", {x, {16}}, {{"equation", std::string("bse,e->bse")}}},
      {"add", {x, {8, 16}}, {{"equation", std::string("bse,se->bse")}}},
      {"add", {x, x}, {{"equation", std::string("bse,bse->bse")}}},
      {"reduce_sum", {x}, {{"equation", std::string("bse->e")}}},
      {"reduce_sum", {x}, {{"equation", std::string("bse->se")}}},
      {"reduce_sum", {q}, {{"equation", std::string("bshd->hd")}}},
      {"gelu", {x}, {}},
      {"gelu_grad", {x, x}, {}},
      {"layer_norm_moments", {x}, {}},
      {"layer_norm", {x, row, row, {16}, {16}}, norm},
      {"layer_norm_grad_moments", {x, x, row, row, {16}}, norm},
      {"layer_norm_grad_input", {x, x, row, row, {16}, row, row}, norm},
      {"layer_norm_grad_parameters", {x, x, row, row}, norm},
      {"attention", {q, k, k, row, row}, attention},
      {"attention", {q, k, k, row, row}, dropping},
      {"attention_grad", {q, k, k, row, row, q, lse, q}, attention},
      {"attention_grad", {q, k, k, row, row, q, lse, q}, dropping},
      {"dropout", {x}, dropout},
      {"cross_entropy", {{4, 8, 24}, row}, {{"scale", 1.0 / 32}}},
      {"cross_entropy_grad", {{4, 8, 24}, row, row}, {{"scale", 1.0 / 32}}},
      {"adam", {{8, 16}, {8, 16}, {8, 16}, {8, 16}}, adam},
  };
}

// Operand `index` of the op holds token ids.
bool is_integer(const std::string& op, size_t index) {
  if (op == "embedding" || op == "embedding_grad") return index == 0;
  if (op == "cross_entropy" || op == "cross_entropy_grad") return index == 1;
  return (op == "attention" || op == "attention_grad") && (index == 3 || index == 4);
}

std::vector<TestArray> random_operands(const Case& c, const std::vector<TensorType>& types) {
  std::mt19937 random(11);
  std::vector<TestArray> arrays;
  for (size_t i = 0; i < types.size(); ++i) {
    arrays.emplace_back(types[i].bytes());
    int64_t count = element_count(types[i].shape);
    if (types[i].dtype == DType::i32) {
      for (int64_t e = 0; e < count; ++e) arrays.back().i32()[e] = static_cast<int32_t>(random() % 24);
    } else {
      // Sums of squares and second moments are not negative; log-sum-exps are above the scores.
      bool squares = (c.op.starts_with("layer_norm") && c.op != "layer_norm_moments" &&
                      i == (c.op.find("grad") != std::string::npos ? 3u : 2u)) ||
                     (c.op == "adam" && i == 3);
      bool lse = (c.op == "attention_grad" && i == 6) || (c.op == "cross_entropy_grad" && i == 2);
      fill_random(arrays.back().f32(), count, random,
                  squares ? 8.0f
                  : lse   ? 3.0f
                          : -1.0f,
                  squares ? 16.0f
                  : lse   ? 4.0f
                          : 1.0f);
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
      for (const Case& c : cases()) found |= c.op == definition->name();
      QVERIFY2(found, std::string(definition->name()).c_str());
    }
  }

  // Law 2: run on each device of a 2 x 2 mesh in every legal placement, the parts reassemble to the whole result.
  void parts_reassemble_to_the_whole_data() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const Case& c : cases()) {
      QTest::newRow((std::to_string(index) + " " + c.op).c_str()) << index;
      ++index;
    }
  }
  void parts_reassemble_to_the_whole() {
    QFETCH(int, index);
    const Case c = cases()[static_cast<size_t>(index)];
    const OpDefinition& definition = op_definition(c.op);
    std::vector<TensorType> operand_types;
    for (size_t i = 0; i < c.operands.size(); ++i) {
      operand_types.push_back({c.operands[i], is_integer(c.op, i) ? DType::i32 : DType::f32});
    }
    std::vector<TensorType> result_types = definition.infer(c.attributes, operand_types);
    std::vector<TestArray> operands = random_operands(c, operand_types), wholes;
    std::vector<TensorView> inputs, outputs;
    for (size_t i = 0; i < operands.size(); ++i) inputs.push_back(whole_view(operands[i], operand_types[i]));
    for (const TensorType& type : result_types) wholes.emplace_back(type.bytes());
    for (size_t i = 0; i < wholes.size(); ++i) outputs.push_back(whole_view(wholes[i], result_types[i]));
    run_kernel(definition, c.attributes, inputs, outputs);

    Mesh mesh({{"x", 2}, {"y", 2}});
    FactorRule rule = definition.factors(c.attributes, operand_types, result_types);
    std::vector<Placement> placements = legal_placements(rule, mesh, {0, 1});
    std::vector<Placement> reversed = legal_placements(rule, mesh, {1, 0});
    placements.insert(placements.end(), reversed.begin(), reversed.end());
    QVERIFY(placements.size() > 2);
    for (const Placement& placement : placements)
      check(c, definition, rule, placement, mesh, operand_types, result_types, operands, wholes);
  }

 private:
  void check(const Case& c, const OpDefinition& definition, const FactorRule& rule, const Placement& placement,
             const Mesh& mesh, const std::vector<TensorType>& operand_types,
             const std::vector<TensorType>& result_types, std::vector<TestArray>& operands,
             std::vector<TestArray>& wholes) {
    std::vector<std::vector<double>> sums;
    for (const TensorType& type : result_types) sums.emplace_back(static_cast<size_t>(element_count(type.shape)), 0.0);
    for (int device = 0; device < mesh.device_count(); ++device) {
      std::vector<TestArray> parts, results;
      std::vector<TensorView> inputs, outputs;
      for (size_t i = 0; i < operands.size(); ++i) {
        Sharding sharding = operand_sharding(rule, placement, static_cast<int>(i));
        Box box = shard_box(sharding, mesh, operand_types[i].shape, device);
        parts.emplace_back(element_count(box.size) * 4);
        // A partial operand is split 0.6 / 0.4 along each axis over which it is partial.
        double share = 1;
        for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
          if ((sharding.partial >> axis) & 1) share *= mesh.coordinate(device, axis) == 0 ? 0.6 : 0.4;
        }
        for_each_element(box, operand_types[i].shape, [&](int64_t local, int64_t global) {
          if (operand_types[i].dtype == DType::i32) {
            parts.back().i32()[local] = operands[i].i32()[global];
          } else {
            parts.back().f32()[local] = static_cast<float>(share * operands[i].f32()[global]);
          }
        });
        inputs.push_back({nullptr, operand_types[i].dtype, box.size, operand_types[i].shape, box.start});
      }
      for (size_t i = 0; i < parts.size(); ++i) inputs[i].data = parts[i].data();
      std::vector<Box> boxes;
      for (size_t i = 0; i < result_types.size(); ++i) {
        boxes.push_back(
            shard_box(result_sharding(rule, placement, static_cast<int>(i)), mesh, result_types[i].shape, device));
        results.emplace_back(element_count(boxes.back().size) * 4);
      }
      for (size_t i = 0; i < results.size(); ++i) outputs.push_back(part_view(results[i], result_types[i], boxes[i]));
      run_kernel(definition, c.attributes, inputs, outputs);
      for (size_t i = 0; i < results.size(); ++i)
        add_part(rule, placement, mesh, device, i, boxes[i], result_types[i], results[i], sums[i]);
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      double scale = 1e-3;
      for (size_t e = 0; e < sums[i].size(); ++e)
        scale = std::max(scale, std::abs(static_cast<double>(wholes[i].f32()[e])));
      for (size_t e = 0; e < sums[i].size(); ++e) {
        double difference = std::abs(sums[i][e] - wholes[i].f32()[e]);
        QVERIFY2(difference <= 2e-5 * scale, qPrintable(QString("result %1 element %2: %3 instead of %4")
                                                            .arg(i)
                                                            .arg(e)
                                                            .arg(sums[i][e])
                                                            .arg(wholes[i].f32()[e])));
      }
    }
  }

  // Devices that hold the same part count once; summands of partial results add up.
  static void add_part(const FactorRule& rule, const Placement& placement, const Mesh& mesh, int device, size_t result,
                       const Box& box, const TensorType& type, TestArray& part, std::vector<double>& sum) {
    Sharding sharding = result_sharding(rule, placement, static_cast<int>(result));
    uint8_t used = sharding.used_axes();
    for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
      if (!((used >> axis) & 1) && mesh.coordinate(device, axis) != 0) return;
    }
    for_each_element(box, type.shape,
                     [&](int64_t local, int64_t global) { sum[static_cast<size_t>(global)] += part.f32()[local]; });
  }
};

QTEST_APPLESS_MAIN(OpPlacementTest)
#include "op_placement_test.moc"
