#include <QtTest>
#include <cmath>

#include <limits>

#include "engine/shard/placement.h"
#include "tests/laws/whole_graph.h"
#include "tests/ops/op_cases.h"
#include "tests/test_program.h"

namespace op_placement_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Copies the part `box` of a whole array out of it, or adds the part into it.
template <class Visit>
void for_each_element(const Box& box, const Shape& shape, Visit visit) {
  Shape at(shape.size());
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
      for (const OpCase& c : small_op_cases()) found |= c.op == definition->name();
      QVERIFY2(found, std::string(definition->name()).c_str());
    }
  }

  // Law 2: run on each device of a 2 x 2 mesh in every legal placement, the parts reassemble to the whole result.
  void parts_reassemble_to_the_whole_data() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const OpCase& c : small_op_cases()) {
      QTest::newRow((std::to_string(index) + " " + c.op).c_str()) << index;
      ++index;
    }
  }
  void parts_reassemble_to_the_whole() {
    QFETCH(int, index);
    static const std::vector<OpCase> all = small_op_cases();
    const OpCase& c = all[static_cast<size_t>(index)];
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
    for (const Placement& reversed : legal_placements(rule, mesh, {1, 0}))
      if (std::ranges::find(placements, reversed) == placements.end()) placements.push_back(reversed);
    QVERIFY(rule.factors.empty() || placements.size() > 2);
    for (const Placement& placement : placements) {
      if (ring_factor(rule, placement) >= 0) continue;  // sent on, by no kernel
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
        // A partial operand is split 0.6 / 0.4 along each axis over which it is partial, integers 1 / 0.
        const double major = is_float(type.dtype) ? 0.6 : 1;
        double share = 1;
        for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
          if ((sharding.partial >> axis) & 1) share *= mesh.coordinate(device, axis) == 0 ? major : 1 - major;
        }
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
    const bool is_exact = std::ranges::count(cases_of(c.op).exact, c.op) > 0;
    for (size_t i = 0; i < totals.size(); ++i) {
      const DType dtype = result_types[i].dtype;
      double scale = 1e-3;
      for (size_t e = 0; e < totals[i].size(); ++e) scale = std::max(scale, std::abs(wholes[i].get(dtype, e)));
      // Summands of bf16 are rounded each for itself.
      const bool takes_bf16 = std::ranges::find(c.operands, DType::bf16, &TensorType::dtype) != c.operands.end();
      const bool rounded = dtype == DType::bf16 || (placement.partial != 0 && takes_bf16);
      const double rounding = rounded ? 1e-2 : 2e-5;
      const bool exact = (is_exact && placement.partial == 0) || dtype == DType::i32;
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

REGISTER_TEST(OpPlacementTest)

}  // namespace op_placement_test

#include "op_placement_test.moc"
