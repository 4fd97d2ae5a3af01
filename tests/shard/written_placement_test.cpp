#include "engine/shard/written_placement.h"

#include <QTest>
#include <algorithm>

#include "engine/ops/layer_norm.h"
#include "engine/shard/lowering.h"
#include "engine/shard/propagation.h"
#include "tests/shard/random_graph.h"
#include "tests/test_program.h"

namespace written_placement_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int graph_count = 300;

struct Written {
  WrittenPlacements placements;
  Program program;
};

Written written(const RandomGraph& one) {
  const std::vector<Sharding> propagated = propagate(one.graph, one.mesh, one.pins);
  Written result;
  result.placements = written_placements(one.graph, one.mesh,
                                         written_layouts(one.graph, one.mesh, one.pins, propagated, one.cotangents));
  const WorkPrices prices(reference_host(), one.mesh);
  const LayoutProblem problem{one.graph, one.mesh, result.placements.defined, prices};
  result.program = lower(problem, fixed_choice(result.placements.placements, one.pins.size())).program;
  return result;
}

// A training graph of products on a mesh data=2, model=4, written op by op. All sizes divide.
class Network {
 public:
  Network() {
    one_.mesh = Mesh({{"data", 2}, {"model", 4}});
    tokens_ = input("tokens");
    labels_ = input("labels");
  }

  using Spec = std::vector<std::vector<AxisIndex>>;

  // Rows of integers, split over data.
  ValueId input(const std::string& name) { return pinned(one_.graph.add_input(name, {{8, 4}, DType::i32}), {{0}, {}}); }

  ValueId parameter(Shape shape, const Spec& spec = {}) {
    const std::string name = "p" + std::to_string(one_.graph.states.size());
    return pinned(add_parameter(one_.graph, name, std::move(shape)), spec);
  }

  std::vector<ValueId> apply(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const std::string name = op + std::to_string(one_.graph.ops.size());
    const OpId id =
        one_.graph.add_op(op_definition(op), name, Phase::forward, std::move(inputs), std::move(attributes));
    return one_.graph.ops[id].outputs;
  }

  ValueId embed() { return apply("embedding", {tokens_, parameter({16, 8})})[0]; }

  ValueId layer_norm(ValueId x) {
    const std::vector<ValueId> sums = apply("layer_norm_moments", {x});
    const int64_t features = one_.graph.type(x).shape.back();
    return apply("layer_norm", {x, sums[0], sums[1], parameter({features}), parameter({features})},
                 LayerNormAttributes{1e-6, features})[0];
  }

  ValueId dense(ValueId x, int64_t width, const Spec& kernel) {
    return apply("einsum", {x, parameter({one_.graph.type(x).shape.back(), width}, kernel)},
                 EquationAttributes{"bse,ef->bsf"})[0];
  }

  ValueId add(ValueId x, ValueId y) { return apply("add", {x, y}, EquationAttributes{"bse,bse->bse"})[0]; }

  ValueId bias(ValueId x, const Spec& spec) {
    return apply("add", {x, parameter({one_.graph.type(x).shape.back()}, spec)}, EquationAttributes{"bse,e->bse"})[0];
  }

  RandomGraph train(ValueId x) {
    Graph& graph = one_.graph;
    const ValueId logits = dense(x, 16, {});
    add_loss(graph, logits, labels_);
    graph.outputs["logits"] = logits;
    one_.cotangents = shardscope::test::train(graph);
    one_.pins.resize(graph.values.size());
    for (const auto& [value, sharding] : pins_) one_.pins[value] = sharding;
    one_.pin_states();
    return one_;
  }

 private:
  ValueId pinned(ValueId value, const Spec& spec) {
    Sharding sharding = Sharding::replicated(static_cast<int>(one_.graph.type(value).shape.size()));
    for (size_t d = 0; d < spec.size(); ++d) {
      for (AxisIndex axis : spec[d]) sharding.dims[d].push_back(axis);
    }
    pins_.emplace_back(value, sharding);
    return value;
  }

  RandomGraph one_;
  std::vector<std::pair<ValueId, Sharding>> pins_;
  ValueId tokens_ = no_id, labels_ = no_id;
};

// Names of the collectives over the model axis, by phase.
std::vector<std::string> over_model(const Program& program, Phase phase) {
  std::vector<std::string> found;
  for (const Instruction& instruction : program.main_instructions()) {
    if (is_collective(instruction.kind()) && instruction.phase == phase &&
        std::find(instruction.axes().begin(), instruction.axes().end(), AxisIndex{1}) != instruction.axes().end()) {
      found.push_back(std::string(name(instruction.kind())));
    }
  }
  return found;
}

const std::vector<std::string> one_sum{"all-reduce"};

}  // namespace

class WrittenPlacementTest : public QObject {
  Q_OBJECT

 private slots:
  void every_placement_is_legal_and_every_program_sound() {
    RandomGraphs graphs(1);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Written result = written(one);
      for (size_t op = 0; op < one.graph.ops.size(); ++op) {
        QVERIFY2(is_legal(one.graph.rule(op), result.placements.placements[op], one.mesh),
                 one.graph.ops[op].name.c_str());
      }
      verify(result.program, one.graph, one.mesh);
    }
  }

  void pins_stay() {
    RandomGraphs graphs(2);
    for (int i = 0; i < graph_count; ++i) {
      const RandomGraph one = graphs.next();
      const Written result = written(one);
      for (size_t v = 0; v < one.pins.size(); ++v) {
        if (one.pins[v]) QVERIFY(result.placements.defined[v] == one.pins[v]);
      }
    }
  }

  void megatrons_two_layers_take_one_all_reduce_forward_and_one_backward() {
    Network network;
    ValueId x = network.embed();
    ValueId y = network.bias(network.dense(network.layer_norm(x), 32, {{}, {1}}), {{1}});
    y = network.apply("gelu", {y})[0];
    y = network.bias(network.dense(y, 8, {{1}, {}}), {});
    const Program program = written(network.train(network.add(y, x))).program;
    QVERIFY(over_model(program, Phase::forward) == one_sum);
    QVERIFY(over_model(program, Phase::backward) == one_sum);
  }

  void partial_sums_are_added_before_they_are_reduced() {
    Network network;
    ValueId x = network.embed();
    ValueId y = network.layer_norm(x);
    ValueId a = network.dense(network.dense(y, 32, {{}, {1}}), 8, {{1}, {}});
    ValueId b = network.dense(network.dense(y, 16, {{}, {1}}), 8, {{1}, {}});
    ValueId c = network.dense(network.dense(y, 8, {{}, {1}}), 8, {{1}, {}});
    const Program program = written(network.train(network.add(network.add(network.add(a, b), c), x))).program;
    QVERIFY(over_model(program, Phase::forward) == one_sum);
    QVERIFY(over_model(program, Phase::backward) == one_sum);
  }

  void a_kernel_split_over_the_batchs_axis_is_gathered_and_its_gradient_scattered() {
    Network network;
    const RandomGraph one = network.train(network.dense(network.layer_norm(network.embed()), 8, {{0}, {}}));
    const Program program = written(one).program;
    std::vector<InstructionKind> kernel_moves;
    const State& kernel = one.graph.states[one.graph.trainable()[3]];
    for (const Instruction& instruction : program.main_instructions()) {
      if (!is_collective(instruction.kind()) || instruction.operands().size() > 1) continue;
      const ValueId id = program.values[instruction.operands()[0]].graph_value;
      const Value& moved = one.graph.values[id];
      QVERIFY2(instruction.kind() != InstructionKind::all_gather || moved.kind == ValueKind::state, moved.name.c_str());
      if (kernel.before == id || kernel.gradient == id) kernel_moves.push_back(instruction.kind());
    }
    QVERIFY((kernel_moves == std::vector{InstructionKind::all_gather, InstructionKind::reduce_scatter}));
  }

  void a_vocabulary_that_is_split_is_looked_up_where_it_is() {
    Network network;
    ValueId tokens = network.input("more");
    ValueId x = network.apply("embedding", {tokens, network.parameter({16, 8}, {{1}, {}})})[0];
    const Program program = written(network.train(network.layer_norm(x))).program;
    QVERIFY(over_model(program, Phase::forward) == one_sum);
    QVERIFY(over_model(program, Phase::backward).empty());
  }
};

REGISTER_TEST(WrittenPlacementTest)

}  // namespace written_placement_test

#include "written_placement_test.moc"
