#include "engine/shard/placement.h"

#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "tests/ops/op_cases.h"
#include "tests/test_program.h"

namespace placement_test {

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

// The product of the sizes of all axes that the placement uses: among how many devices the work is divided.
int64_t division(const FactorRule& rule, const Placement& placement, const Mesh& mesh) {
  int64_t parts = 1;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    for (AxisIndex axis : placement.factors[f]) parts *= mesh.axis_size(axis);
  }
  return parts;
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

bool is_composed(const std::vector<std::vector<DimensionFactors>>& arrays) {
  for (const std::vector<DimensionFactors>& dims : arrays) {
    for (const DimensionFactors& dimension : dims) {
      if (dimension.size() != 1) return true;
    }
  }
  return false;
}
bool is_composed(const FactorRule& rule) { return is_composed(rule.operands) || is_composed(rule.results); }

// The types of its results do not follow from those of local operands.
bool sized_by_attributes(const OpCase& one) {
  return std::ranges::count(cases_of(one.op).sized_by_attributes, one.op) > 0 ||
         (one.attributes.are<EquationAttributes>() && !one.attributes.as<EquationAttributes>().sizes.empty());
}

// The indices along one dimension whose factors a device works on, by the definition of splitting a factor.
std::vector<int64_t> held_indices(const FactorRule& rule, const DimensionFactors& dimension, const Placement& placement,
                                  const Mesh& mesh, int device) {
  std::vector<int64_t> held{0};
  for (int f : dimension) {
    int64_t parts = 1, part = 0;
    for (AxisIndex axis : placement.factors[f]) {
      parts *= mesh.axis_size(axis);
      part = part * mesh.axis_size(axis) + mesh.coordinate(device, axis);
    }
    const int64_t size = rule.factors[f].size / parts;
    std::vector<int64_t> next;
    for (int64_t major : held) {
      for (int64_t i = 0; i < size; ++i) next.push_back(major * rule.factors[f].size + part * size + i);
    }
    held = std::move(next);
  }
  return held;
}

bool is_a_run(const std::vector<int64_t>& indices) {
  return indices.empty() || indices.back() - indices.front() + 1 == static_cast<int64_t>(indices.size());
}

// Every axis on every factor, on none, or partial, whether it makes sense or not.
std::vector<Placement> all_placements(const FactorRule& rule, const Mesh& mesh) {
  std::vector<Placement> placements{Placement{}};
  for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
    std::vector<Placement> extended = placements;
    for (const Placement& placement : placements) {
      for (size_t f = 0; f < rule.factors.size(); ++f) {
        extended.push_back(placement);
        extended.back().factors[f].push_back(axis);
      }
      extended.push_back(placement);
      extended.back().partial |= static_cast<uint8_t>(1u << axis);
    }
    placements = std::move(extended);
  }
  return placements;
}

AxisList axes(std::initializer_list<AxisIndex> list) {
  AxisList result;
  for (AxisIndex axis : list) result.push_back(axis);
  return result;
}

// "bs(hd)->bshd" of an array (4, 6, heads x size); h is factor 2, d is factor 3.
FactorRule heads_rule(int64_t heads, int64_t size) {
  return OpCase{"rearrange", {array({4, 6, heads * size})}, equation("bs(hd)->bshd", {{'h', heads}}), {}}.rule();
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

  // By definition: it divides, what goes round a ring is whole or in single parts, only linear ops work on partial
  // sums, and what a device holds of a dimension is one run.
  void no_legal_placement_is_left_out_and_every_one_is_contiguous() {
    for (const Mesh& mesh : {Mesh({{"a", 2}, {"b", 3}}), Mesh({{"a", 2}, {"b", 6}, {"c", 2}})}) {
      for (const OpCase& one : op_cases()) {
        const FactorRule rule = one.rule();
        if (mesh.axis_count() > 2 && !is_composed(rule)) continue;
        const std::vector<Placement> found = legal_placements(rule, mesh, axis_order(mesh));
        size_t legal = 0;
        for (const Placement& placement : all_placements(rule, mesh)) {
          bool fits = placement.partial == 0 || rule.linear;
          for (size_t f = 0; f < rule.factors.size(); ++f) {
            int64_t parts = 1;
            for (AxisIndex axis : placement.factors[f]) parts *= mesh.axis_size(axis);
            fits &= rule.factors[f].size % parts == 0 && (rule.factors[f].splittable || parts == 1);
            fits &= rule.factors[f].ring == 0 || parts == 1 || parts == rule.factors[f].size;
          }
          auto check = [&](const std::vector<std::vector<DimensionFactors>>& arrays) {
            for (const std::vector<DimensionFactors>& dims : arrays) {
              for (const DimensionFactors& dimension : dims) {
                for (int device = 0; fits && device < mesh.device_count(); ++device) {
                  fits &= is_a_run(held_indices(rule, dimension, placement, mesh, device));
                }
              }
            }
          };
          check(rule.operands);
          check(rule.results);
          legal += fits;
          QVERIFY2((std::find(found.begin(), found.end(), placement) != found.end()) == fits, one.op.c_str());
        }
        QCOMPARE(found.size(), legal);
      }
    }
  }

  // Splitting factors gives each device the part of the array that its layout says.
  void a_layout_is_what_its_factors_hold() {
    for_each_placement([](const OpCase& one, const FactorRule& rule, const Mesh& mesh, const Placement& placement) {
      for (size_t i = 0; i < rule.operands.size(); ++i) {
        if (!is_composed({rule.operands[i]})) continue;
        const Sharding sharding = operand_sharding(rule, placement, static_cast<int>(i));
        for (int device = 0; device < mesh.device_count(); ++device) {
          const Box box = shard_box(sharding, mesh, one.operands[i].shape, device);
          for (size_t d = 0; d < rule.operands[i].size(); ++d) {
            const std::vector<int64_t> held = held_indices(rule, rule.operands[i][d], placement, mesh, device);
            QVERIFY(held.front() == box.start[d] && static_cast<int64_t>(held.size()) == box.size[d]);
          }
        }
      }
    });
  }

  void an_axis_goes_to_the_most_major_factor_that_is_not_wholly_split() {
    const Mesh mesh({{"a", 2}, {"b", 2}, {"c", 8}, {"odd", 3}, {"unit", 1}});
    const FactorRule rule = heads_rule(4, 16);
    auto factors = [&](std::initializer_list<AxisIndex> list) {
      Placement placement;
      add_dimension_axes(rule, rule.operands[0][2], axes(list), mesh, placement);
      return std::pair(placement.factors[2], placement.factors[3]);
    };
    QVERIFY(factors({0, 1, 2}) == std::pair(axes({0, 1}), axes({2})));
    QVERIFY(factors({0}) == std::pair(axes({0}), axes({})));
    QVERIFY(factors({1, 0}) == std::pair(axes({1, 0}), axes({})));
    // Axes that fit no factor are left out, and those behind them.
    QVERIFY(factors({3, 0, 1}) == std::pair(axes({}), axes({})));
    QVERIFY(factors({2}) == std::pair(axes({}), axes({})));
    QVERIFY(factors({0, 2, 1}) == std::pair(axes({0}), axes({})));
    QVERIFY(factors({0, 1, 3, 2}) == std::pair(axes({0, 1}), axes({})));
    QVERIFY(factors({0, 4, 1, 2}) == std::pair(axes({0, 4, 1}), axes({2})));
  }

  void h_and_d_in_one_dimension_can_be_split_into_whole_heads_and_further_only_when_heads_are_single() {
    const Mesh mesh({{"a", 2}, {"b", 2}, {"c", 3}});
    const FactorRule rule = heads_rule(4, 6);
    int single = 0, whole = 0;
    for (const Placement& placement : legal_placements(rule, mesh, axis_order(mesh))) {
      const bool single_heads = placement.factors[2] == axes({0, 1});
      QVERIFY(single_heads || placement.factors[3].empty());
      single += single_heads && !placement.factors[3].empty();
      whole += placement.factors[2].count == 1;
      QVERIFY(is_contiguous(rule, placement, mesh));
    }
    QVERIFY(single > 0 && whole > 0);
    Placement inside;
    inside.factors[3] = axes({2});
    QVERIFY(!is_contiguous(rule, inside, mesh));
    inside.factors[2] = axes({0});
    QVERIFY(!is_contiguous(rule, inside, mesh));
    inside.factors[2] = axes({0, 1});
    QVERIFY(is_contiguous(rule, inside, mesh));
  }

  // For random factor lists and meshes: what fits comes back, and what comes back is the longest part that fits.
  void axes_of_a_dimension_come_back_from_its_factors() {
    std::mt19937 random(1);
    auto pick = [&](const std::vector<int64_t>& from) { return from[random() % from.size()]; };
    int whole = 0, several = 0;
    for (int trial = 0; trial < 20000; ++trial) {
      FactorRule rule;
      DimensionFactors dimension;
      for (size_t f = 0, count = random() % 4; f < count; ++f) {
        rule.factors.push_back({static_cast<char>('a' + f), pick({1, 2, 3, 4, 6, 8, 12})});
        dimension.push_back(static_cast<int>(f));
      }
      std::vector<MeshAxis> mesh_axes;
      for (size_t i = 0, count = 1 + random() % 4; i < count; ++i) {
        mesh_axes.push_back({std::string(1, static_cast<char>('a' + i)), pick({1, 2, 2, 3, 4})});
      }
      const Mesh mesh(mesh_axes);
      std::vector<AxisIndex> order = axis_order(mesh);
      std::shuffle(order.begin(), order.end(), random);
      AxisList given, fitting;
      for (size_t i = 0, count = random() % (order.size() + 1); i < count; ++i) given.push_back(order[i]);
      int64_t split = 1;
      for (AxisIndex axis : given) {
        int64_t before = 1;
        bool fits = false;
        for (const Factor& factor : rule.factors) {
          fits |= split % before == 0 && before * factor.size % (split * mesh.axis_size(axis)) == 0;
          before *= factor.size;
        }
        if (!fits) break;
        split *= mesh.axis_size(axis);
        fitting.push_back(axis);
      }
      Placement placement;
      add_dimension_axes(rule, dimension, given, mesh, placement);
      QVERIFY(dimension_axes(dimension, placement) == fitting);
      rule.operands = {{dimension}};
      QVERIFY(is_contiguous(rule, placement, mesh));
      whole += fitting == given && !given.empty();
      int factors = 0;
      for (const AxisList& list : placement.factors) factors += !list.empty();
      several += factors > 1;
    }
    QVERIFY2(whole > 2000 && several > 300, (std::to_string(whole) + " " + std::to_string(several)).c_str());
  }

  void a_legal_placement_comes_back_from_the_layouts_that_it_asks_for() {
    for_each_placement([](const OpCase&, const FactorRule& rule, const Mesh& mesh, const Placement& placement) {
      for (size_t i = 0; i < rule.operands.size(); ++i) {
        const Sharding sharding = operand_sharding(rule, placement, static_cast<int>(i));
        Placement back;
        for (size_t d = 0; d < rule.operands[i].size(); ++d) {
          add_dimension_axes(rule, rule.operands[i][d], sharding.dims[d], mesh, back);
          for (int f : rule.operands[i][d]) QVERIFY(back.factors[f] == placement.factors[f]);
        }
      }
    });
  }

  void local_shapes_fit_the_op_again() {
    for_each_placement([](const OpCase& one, const FactorRule& rule, const Mesh& mesh, const Placement& placement) {
      if (sized_by_attributes(one)) return;
      const std::vector<TensorType> operands = localised(one.operands, operand_shardings(rule, placement), mesh);
      const std::vector<TensorType> results = localised(one.results(), result_shardings(rule, placement), mesh);
      QVERIFY2(one.definition().infer(one.attributes, operands).results == results, one.op.c_str());
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
      size_t result = 0;
      for (const Sharding& sharding : result_shardings(rule, placement)) {
        const Reduction reduction = rule.reductions[result++];
        QCOMPARE(sharding.reduction, sharding.partial ? reduction : Reduction::sum);
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

REGISTER_TEST(PlacementTest)

}  // namespace placement_test

#include "placement_test.moc"
