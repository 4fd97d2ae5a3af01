#include "engine/shard/placement.h"

#include <QTest>
#include <algorithm>
#include <numeric>

#include "tests/ops/op_case.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

const std::vector<Mesh> meshes{Mesh({{"a", 2}}), Mesh({{"a", 2}, {"b", 3}}), Mesh({{"a", 2}, {"unit", 1}, {"b", 2}}),
                               Mesh({{"a", 3}, {"b", 2}, {"c", 2}}), Mesh()};

std::vector<AxisIndex> axis_order(const Mesh& mesh) {
  std::vector<AxisIndex> order(mesh.axis_count());
  std::iota(order.begin(), order.end(), AxisIndex{0});
  return order;
}

// Calls visit(op case, rule, mesh, placement) for every legal placement of every op.
template <class Visit>
void for_each_placement(Visit visit) {
  for (const OpCase& one : op_cases()) {
    const FactorRule rule = one.rule();
    for (const Mesh& mesh : meshes) {
      for (const Placement& placement : legal_placements(rule, mesh, axis_order(mesh)))
        visit(one, rule, mesh, placement);
    }
  }
}

std::vector<TensorType> localised(std::vector<TensorType> types, const std::vector<Sharding>& shardings,
                                  const Mesh& mesh) {
  for (size_t i = 0; i < types.size(); ++i) types[i].shape = local_shape(shardings[i], mesh, types[i].shape);
  return types;
}

std::vector<Sharding> operand_shardings(const FactorRule& rule, const Placement& placement) {
  std::vector<Sharding> result;
  for (size_t i = 0; i < rule.operands.size(); ++i)
    result.push_back(operand_sharding(rule, placement, static_cast<int>(i)));
  return result;
}

std::vector<Sharding> result_shardings(const FactorRule& rule, const Placement& placement) {
  std::vector<Sharding> result;
  for (size_t i = 0; i < rule.results.size(); ++i)
    result.push_back(result_sharding(rule, placement, static_cast<int>(i)));
  return result;
}

}  // namespace

class PlacementTest : public QObject {
  Q_OBJECT

 private slots:
  void placements_divide_use_each_axis_once_and_differ() {
    for (const OpCase& one : op_cases()) {
      const FactorRule rule = one.rule();
      for (const Mesh& mesh : meshes) {
        const std::vector<Placement> all = legal_placements(rule, mesh, axis_order(mesh));
        QVERIFY(all[0] == Placement{});
        for (size_t i = 0; i < all.size(); ++i) {
          QVERIFY(std::find(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), all[i]) == all.end());
          unsigned used = all[i].partial;
          QVERIFY(used == 0 || rule.linear);
          for (size_t f = 0; f < rule.factors.size(); ++f) {
            int64_t parts = 1;
            for (AxisIndex axis : all[i].factors[f]) {
              QVERIFY(!((used >> axis) & 1) && mesh.axis_size(axis) > 1);
              used |= 1u << axis;
              parts *= mesh.axis_size(axis);
            }
            QVERIFY(rule.factors[f].size % parts == 0 && (rule.factors[f].splittable || parts == 1));
          }
        }
      }
    }
  }

  // One axis: a place for each factor that may be split and divides, none, and partial.
  void no_legal_placement_is_left_out() {
    const Mesh mesh({{"a", 2}, {"b", 3}});
    for (const OpCase& one : op_cases()) {
      const FactorRule rule = one.rule();
      size_t splittable = 0;
      for (const Factor& factor : rule.factors) splittable += factor.splittable;  // all sizes are multiples of 6
      const size_t choices = splittable + 1 + (rule.linear ? 1 : 0);
      QVERIFY2(legal_placements(rule, mesh, axis_order(mesh)).size() == choices * choices, one.op.c_str());
    }
  }

  void local_shapes_fit_the_op_again() {
    for_each_placement([](const OpCase& one, const FactorRule& rule, const Mesh& mesh, const Placement& placement) {
      if (one.op == "embedding_grad") return;  // its vocabulary is an attribute
      const std::vector<TensorType> operands = localised(one.operands, operand_shardings(rule, placement), mesh);
      const std::vector<TensorType> results = localised(one.results(), result_shardings(rule, placement), mesh);
      QVERIFY2(one.definition().infer(one.attributes, operands) == results, one.op.c_str());
    });
  }

  void work_that_nobody_does_twice_is_divided() {
    for_each_placement([](const OpCase& one, const FactorRule& rule, const Mesh& mesh, const Placement& placement) {
      const std::vector<TensorType> operands = localised(one.operands, operand_shardings(rule, placement), mesh);
      const std::vector<TensorType> results = localised(one.results(), result_shardings(rule, placement), mesh);
      const double whole = one.definition().flops(one.attributes, one.operands, one.results());
      const double local = one.definition().flops(one.attributes, operands, results);
      const double parts = static_cast<double>(division(rule, placement, mesh));
      QVERIFY2(local * parts >= whole, one.op.c_str());
      if (one.definition().is_matrix_product()) QVERIFY2(local * parts == whole, one.op.c_str());
    });
  }

  void results_are_partial_over_what_they_do_not_show() {
    for_each_placement([](const OpCase& one, const FactorRule& rule, const Mesh& mesh, const Placement& placement) {
      int64_t used = division(rule, placement, mesh);
      for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
        if ((placement.partial >> axis) & 1) used *= mesh.axis_size(axis);
      }
      for (const Sharding& sharding : operand_shardings(rule, placement)) QCOMPARE(sharding.partial, placement.partial);
      for (const Sharding& sharding : result_shardings(rule, placement)) {
        int64_t shown = 1;
        for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
          if ((sharding.used_axes() >> axis) & 1) shown *= mesh.axis_size(axis);
        }
        QVERIFY2(shown == used, one.op.c_str());
      }
    });
  }

  void meshes_of_many_axes_have_few_enough_placements() {
    std::vector<MeshAxis> axes;
    for (int axis = 0; axis < Mesh::max_axes; ++axis)
      axes.push_back({std::string(1, static_cast<char>('a' + axis)), 2});
    const Mesh mesh(axes);
    for (const OpCase& one : op_cases()) QVERIFY(legal_placements(one.rule(), mesh, axis_order(mesh)).size() <= 4096);
  }
};

QTEST_APPLESS_MAIN(PlacementTest)
#include "placement_test.moc"
