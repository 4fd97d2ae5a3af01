#include <fmt/format.h>

#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/base/error.h"
#include "engine/plan/cost_model.h"
#include "engine/shard/fixed_placement.h"
#include "engine/shard/lowering.h"
#include "engine/shard/propagation.h"
#include "engine/simulate/simulation.h"
#include "tests/shard/prices_of.h"
#include "tests/shard/random_graph.h"
#include "tests/test_program.h"

namespace priced_layouts_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 200;

LayoutProblem problem_with_start(const RandomGraph& one) {
  LayoutProblem problem{one.graph, one.mesh, one.pins, prices_of(one.mesh)};
  const std::vector<Sharding> propagated = propagate(one.graph, one.mesh, one.pins);
  problem.start = written_placements(one.graph, one.mesh,
                                     written_layouts(one.graph, one.mesh, one.pins, propagated, one.cotangents));
  return problem;
}

double simulated(const LayoutProblem& problem, const LayoutChoice& choice) {
  const Lowered lowered = lower(problem, choice);
  const Program& program = lowered.program;
  return simulate(program, problem.graph, problem.mesh, program.main().purpose,
                  predict_seconds(program, problem.graph, problem.prices))
      .seconds;
}

double simulated_as_written(const LayoutProblem& problem) {
  LayoutProblem fixed{problem.graph, problem.mesh, problem.start.defined, problem.prices};
  fixed.bucket_bytes = problem.bucket_bytes;
  fixed.microbatches = problem.microbatches;
  return simulated(fixed, fixed_choice(problem.start.placements, problem.graph.values.size()));
}

void agree(double priced, double predicted, const char* what, int graph) {
  QVERIFY2(std::abs(priced - predicted) <= 1e-9 * predicted,
           fmt::format("{} {}: priced {:.9g}, predicted {:.9g}", what, graph, priced, predicted).c_str());
}

// A few products, gelus and sums one behind the other, on one or two axes, with random pins of parameters and result.
class SmallGraphs {
 public:
  explicit SmallGraphs(uint32_t seed) : random_(seed) {}

  RandomGraph next() {
    RandomGraph one;
    const int axes = pick({1, 1, 2});
    one.mesh = axes == 1 ? Mesh({{"a", pick({2, 4})}}) : Mesh({{"a", 2}, {"b", pick({2, 4})}});
    const int64_t rows = pick({8, 64, 256});
    int64_t width = pick({32, 256, 1024});
    ValueId last = one.graph.add_input("x", {{rows, width}, DType::f32});
    for (int op = 0; op < (axes == 1 ? 5 : 3); ++op) {
      const std::string name = fmt::format("op{}", op);
      const auto append = [&](const char* definition, std::vector<ValueId> operands, Attributes attributes = {}) {
        last = one.graph
                   .ops[one.graph.add_op(op_definition(definition), name, Phase::forward, std::move(operands),
                                         std::move(attributes))]
                   .outputs[0];
      };
      const int kind = pick({0, 0, 1, 2});
      if (kind == 1) append("gelu", {last});
      if (kind == 2) append("add", {last, last}, EquationAttributes{"ij,ij->ij"});
      if (kind != 0) continue;
      const int64_t next = pick({32, 256, 1024});
      append("einsum", {last, add_parameter(one.graph, "w" + name, {width, next})}, EquationAttributes{"ij,jk->ik"});
      width = next;
    }
    one.pins.resize(one.graph.values.size());
    for (size_t v = 0; v < one.pins.size(); ++v) {
      const bool is_source = one.graph.values[v].kind != ValueKind::result;
      if (!is_source && static_cast<ValueId>(v) != last) continue;
      one.pins[v] = Sharding::replicated(2);
      for (AxisIndex axis = 0; axis < one.mesh.axis_count(); ++axis) {
        const int dimension = pick({0, 1, 2});
        if (dimension < 2) one.pins[v]->dims[static_cast<size_t>(dimension)].push_back(axis);
      }
    }
    one.pin_states();
    one.cotangents.assign(one.graph.values.size(), no_id);
    return one;
  }

 private:
  int pick(std::initializer_list<int> choices) { return choices.begin()[random_() % choices.size()]; }

  std::mt19937 random_;
};

// Of all combinations of legal placements.
double least_seconds(const LayoutProblem& problem) {
  std::vector<AxisIndex> order;
  for (int axis = 0; axis < problem.mesh.axis_count(); ++axis) order.push_back(static_cast<AxisIndex>(axis));
  std::vector<std::vector<Placement>> legal;
  for (size_t op = 0; op < problem.graph.ops.size(); ++op) {
    const std::optional<Placement> fixed = fixed_placement(
        problem.graph, problem.mesh, problem.graph.rule(static_cast<OpId>(op)), static_cast<OpId>(op), problem.pins);
    legal.push_back(fixed ? std::vector{*fixed}
                          : legal_placements(problem.graph.rule(static_cast<OpId>(op)), problem.mesh, order));
  }
  double least = std::numeric_limits<double>::infinity();
  std::vector<size_t> at(legal.size());
  while (true) {
    std::vector<Placement> placements;
    for (size_t op = 0; op < at.size(); ++op) placements.push_back(legal[op][at[op]]);
    try {
      least = std::min(least, simulated(problem, fixed_choice(placements, problem.graph.values.size())));
    } catch (const Failure& failure) {
      if (failure.errors().front().code != "no_layout") throw;  // a summand cannot be made of a whole array
    }
    size_t op = 0;
    while (op < at.size() && ++at[op] == legal[op].size()) at[op++] = 0;
    if (op == at.size()) return least;
  }
}

}  // namespace

class PricedLayoutsTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 9, before anything overlaps: over microbatches, with small arrays that share collectives and without.
  void the_price_is_what_the_instructions_take_one_after_the_other() {
    RandomGraphs graphs(8);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      LayoutProblem problem = problem_with_start(one);
      problem.microbatches = 1 + i % 3;
      problem.bucket_bytes = i % 2 == 0 ? 0 : LayoutProblem::small_bytes;
      const LayoutChoice choice = choose_layouts(problem);
      agree(choice.seconds, simulated(problem, choice), "chosen", i);
      agree(choice.start_seconds, simulated_as_written(problem), "as written", i);
      problem.memory_limit_bytes = 0;
      agree(choice.seconds, choose_layouts(problem).seconds, "without question", i);
      int asked = 0;
      const FitsMemory at_third = [&](const LayoutChoice&) { return ++asked > 1; };
      problem.memory_limit_bytes = int64_t{1} << 50;
      const LayoutChoice traded = choose_layouts(problem, at_third);
      agree(traded.seconds, simulated(problem, traded), "at a price", i);
    }
  }

  // What choose_layouts() says of its bound.
  void of_small_graphs_the_choice_is_nearly_always_the_best_of_all() {
    SmallGraphs graphs(9);
    int best = 0;
    double worst = 1;
    constexpr int count = 100;
    for (int i = 0; i < count; ++i) {
      const RandomGraph one = graphs.next();
      const LayoutProblem problem = problem_with_start(one);
      const double least = least_seconds(problem), found = choose_layouts(problem).seconds;
      QVERIFY(found >= least * (1 - 1e-9));
      best += found <= least * (1 + 1e-9);
      worst = std::max(worst, found / least);
    }
    QVERIFY2(best >= count * 95 / 100, std::to_string(best).c_str());
    QVERIFY2(worst <= 1.25, std::to_string(worst).c_str());
  }
};

REGISTER_TEST(PricedLayoutsTest)

}  // namespace priced_layouts_test

#include "priced_layouts_test.moc"