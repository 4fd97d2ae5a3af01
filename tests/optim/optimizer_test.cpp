#include "engine/optim/optimizer.h"

#include <QTest>
#include <tuple>

#include "engine/graph/autodiff.h"
#include "engine/graph/op_definition.h"
#include "engine/ops/adam.h"
#include "engine/ops/constant.h"
#include "engine/ops/equation.h"
#include "engine/ops/global_norm.h"
#include "engine/ops/initialise.h"
#include "engine/ops/lion.h"
#include "engine/ops/momentum_sgd.h"
#include "engine/ops/registry.h"
#include "engine/ops/sgd.h"
#include "tests/test_program.h"

namespace optimizer_test {

using namespace shardscope;

namespace {

// Two parameters of different types; a step adds an input to the first and sums.
struct Trained {
  Graph graph;
  StateId weight, bias;
  std::vector<ValueId> cotangents;
};

StateId add_parameter(Graph& graph, std::vector<std::string> path, Shape shape) {
  const InitialiseAttributes normal{InitialiseAttributes::Kind::normal, 1, {0, 1}, {std::move(shape), DType::f32}};
  const StateId id = graph.add_state(op_definition("initialise"), normal, "params", std::move(path));
  graph.states[id].trainable = true;
  return id;
}

Trained trained() {
  Trained made;
  Graph& graph = made.graph;
  made.weight = add_parameter(graph, {"params", "Dense_0", "kernel"}, {2, 3});
  made.bias = add_parameter(graph, {"params", "Dense_0", "bias"}, {3});
  graph.values[graph.states[made.weight].before].logical = {"embed", "mlp"};
  const ValueId weight = graph.states[made.weight].before, bias = graph.states[made.bias].before;
  auto append = [&](const char* op, std::vector<ValueId> inputs, Attributes attributes) {
    return graph.ops[graph.add_op(op_definition(op), op, Phase::forward, std::move(inputs), std::move(attributes))]
        .outputs[0];
  };
  const ValueId sum = append("add", {weight, bias}, EquationAttributes{"ab,b->ab"});
  const OpId one =
      graph.add_op(op_definition("constant"), "ones", Phase::backward, {}, ConstantAttributes{1, graph.type(sum)});
  const CotangentSeed seed{sum, graph.ops[one].outputs[0]};
  made.cotangents = differentiate(graph, {&seed, 1}, op_definition("add"), sum_attributes);
  return made;
}

// With what is not given at its default.
OptionList options_of(const char* optimizer, const OptionList& given) {
  std::vector<Error> errors;
  const OptionList options = resolve_options(find_optimizer(optimizer)->options, given, "optimizer", errors);
  if (!errors.empty()) throw Failure(errors);
  return options;
}

const OptionList given{{"learning_rate", 0.5}, {"b1", 0.8}, {"b2", 0.9}, {"eps", 1e-3}};
const OptionList options = options_of("adam", given);

const Op& maker_of(const Graph& graph, ValueId value) { return graph.ops[graph.values[value].producer]; }

}  // namespace

class OptimizerTest : public QObject {
  Q_OBJECT

 private slots:
  void every_optimizer_is_found_by_its_name() {
    for (const OptimizerDefinition& optimizer : all_optimizers()) {
      QVERIFY(find_optimizer(optimizer.name) == &optimizer);
    }
    QVERIFY(find_optimizer("adamm") == nullptr);
  }

  void an_optimizers_state_follows_its_parameter() {
    Trained made = trained();
    const size_t parameters = made.graph.states.size();
    find_optimizer("adam")->append(made.graph, options, {});
    const Graph& graph = made.graph;
    verify(graph);
    QCOMPARE(graph.states.size(), 3 * parameters);
    QVERIFY((graph.trainable() == std::vector<StateId>{made.weight, made.bias}));
    size_t at = parameters;
    for (StateId parameter : graph.trainable()) {
      for (const char* name : {"mu", "nu"}) {
        const State &state = graph.states[at++], &followed = graph.states[parameter];
        QCOMPARE(state.follows, parameter);
        QVERIFY(!state.trainable && state.path == followed.path);
        QCOMPARE(state.collection, std::string("optimizer/") + name);
        QCOMPARE(graph.name(state), state.collection + "/" + graph.name(followed));
        QVERIFY(graph.type(state.before) == graph.type(followed.before));
        QVERIFY(graph.values[state.before].logical == graph.values[followed.before].logical);
      }
    }
  }

  void first_values_are_made_by_ops_without_operands() {
    Trained made = trained();
    find_optimizer("adam")->append(made.graph, options, {});
    for (const State& state : made.graph.states) {
      const Op& op = made.graph.ops[made.graph.values[state.initial].producer];
      QVERIFY(op.definition == &op_definition("initialise") && op.phase == Phase::initialise && op.inputs.empty());
      const InitialiseAttributes& attributes = op.attributes.as<InitialiseAttributes>();
      QVERIFY(attributes.type == made.graph.type(state.before));
      const bool zeros = attributes.kind == InitialiseAttributes::Kind::constant && attributes.scale == 0;
      QCOMPARE(zeros, !state.trainable);
    }
  }

  void an_update_reads_the_values_before_and_makes_those_after() {
    Trained made = trained();
    find_optimizer("adam")->append(made.graph, options, {});
    const Graph& graph = made.graph;
    for (StateId id : graph.trainable()) {
      std::vector<const State*> changed{&graph.states[id]};
      for (const State& state : graph.states) {
        if (state.follows == id) changed.push_back(&state);
      }
      const Op& update = graph.ops[graph.values[graph.states[id].after].producer];
      QVERIFY(update.phase == Phase::update);
      QCOMPARE(update.name, graph.name(graph.states[id]) + "/adam");
      QVERIFY(update.attributes == Attributes(AdamAttributes{0.5, 0.8, 0.9, 1e-3}));
      QCOMPARE(update.inputs[1], made.cotangents[graph.states[id].before]);
      for (size_t i = 0; i < changed.size(); ++i) {
        QCOMPARE(changed[i]->after, update.outputs[i]);
        QCOMPARE(changed[i]->before, update.inputs[i == 0 ? 0 : i + 1]);
      }
    }
  }

  void adamw_is_adam_with_weight_decay() {
    OptionList with_decay = given;
    with_decay.emplace_back("weight_decay", 0.25);
    with_decay = options_of("adamw", with_decay);
    Trained made = trained(), plain = trained();
    find_optimizer("adamw")->append(made.graph, with_decay, {});
    find_optimizer("adam")->append(plain.graph, options, {});
    QCOMPARE(made.graph.ops.size(), plain.graph.ops.size());
    for (StateId id : made.graph.trainable()) {
      const Op& update = made.graph.ops[made.graph.values[made.graph.states[id].after].producer];
      QVERIFY(update.attributes == Attributes(AdamAttributes{0.5, 0.8, 0.9, 1e-3, 0.25}));
    }
  }

  void weight_decay_takes_from_the_parameters_whose_names_its_mask_matches() {
    for (const auto& [mask, weight, bias] :
         std::vector<std::tuple<std::string, double, double>>{{"**", 0.25, 0.25},
                                                              {"**/kernel", 0.25, 0},
                                                              {"params/*/bias", 0, 0.25},
                                                              {" x/** , **/kernel,**/bias", 0.25, 0.25},
                                                              {"**/{kernel,scale}", 0.25, 0},
                                                              {"", 0, 0},
                                                              {"kernel", 0, 0}}) {
      Trained made = trained();
      OptionList masked = given;
      masked.emplace_back("weight_decay", 0.25);
      masked.emplace_back("decay_mask", mask);
      find_optimizer("adamw")->append(made.graph, options_of("adamw", masked), {});
      for (const auto& [state, decay] : {std::pair{made.weight, weight}, {made.bias, bias}}) {
        const Op& update = maker_of(made.graph, made.graph.states[state].after);
        QCOMPARE(update.attributes.as<AdamAttributes>().weight_decay, decay);
      }
    }
  }

  void a_pattern_of_the_mask_that_matches_no_parameter_is_reported() {
    const OptionList masked =
        options_of("adamw", {{"learning_rate", 0.5}, {"decay_mask", std::string("**/kernel, **/scale")}});
    const std::vector<Error> notes =
        find_optimizer("adamw")->notes(masked, {"params/Dense_0/kernel", "params/Dense_0/bias"});
    QCOMPARE(notes.size(), size_t{1});
    QCOMPARE(notes[0].place.path, std::string("optimizer.decay_mask"));
    QVERIFY(notes[0].message.find("'**/scale'") != std::string::npos);
  }

  void sgd_with_momentum_keeps_optaxs_trace_and_without_it_its_mean() {
    for (const bool nesterov : {false, true}) {
      Trained made = trained();
      find_optimizer("sgd")->append(
          made.graph, options_of("sgd", {{"learning_rate", 0.5}, {"momentum", 0.75}, {"nesterov", nesterov}}), {});
      for (StateId id : {made.weight, made.bias}) {
        const Op& update = maker_of(made.graph, made.graph.states[id].after);
        QVERIFY(update.attributes == Attributes(MomentumSgdAttributes{0.5, 0.75, nesterov}));
      }
      QCOMPARE(made.graph.states.back().collection, std::string("optimizer/trace"));
      QCOMPARE(made.graph.states.size(), size_t{4});
    }
    Trained plain = trained();
    find_optimizer("sgd")->append(plain.graph, options_of("sgd", {{"learning_rate", 0.5}}), {});
    QVERIFY(maker_of(plain.graph, plain.graph.states[plain.weight].after).attributes ==
            Attributes(SgdAttributes{0.5, 0.9}));
    QCOMPARE(plain.graph.states.back().collection, std::string("optimizer/momentum"));
  }

  void momentum_beside_decay_and_nesterov_without_momentum_are_faults() {
    const auto faults = [](const OptionList& given) {
      std::string text;
      for (const Error& error : find_optimizer("sgd")->check(given)) text += error.code + " " + error.place.path + ";";
      return text;
    };
    QCOMPARE(faults({{"momentum", 0.9}, {"decay", 0.9}}), std::string("two_momenta optimizer.decay;"));
    QCOMPARE(faults({{"nesterov", true}}), std::string("no_momentum optimizer.nesterov;"));
    QCOMPARE(faults({{"nesterov", true}, {"momentum", int64_t{0}}}), std::string("no_momentum optimizer.nesterov;"));
    QCOMPARE(faults({{"nesterov", true}, {"momentum", 0.9}}), std::string());
    QCOMPARE(faults({{"momentum", 0.0}, {"decay", 0.5}}), std::string());
  }

  void lion_keeps_one_moment_and_decays_what_its_mask_matches() {
    Trained made = trained();
    find_optimizer("lion")->append(
        made.graph, options_of("lion", {{"learning_rate", 0.5}, {"decay_mask", std::string("**/kernel")}}), {});
    QVERIFY(maker_of(made.graph, made.graph.states[made.weight].after).attributes ==
            Attributes(LionAttributes{0.5, 0.9, 0.99, 1e-3}));
    QVERIFY(maker_of(made.graph, made.graph.states[made.bias].after).attributes ==
            Attributes(LionAttributes{0.5, 0.9, 0.99, 0}));
    QCOMPARE(made.graph.states.back().collection, std::string("optimizer/mu"));
    QCOMPARE(made.graph.states.size(), size_t{4});
  }

  // Each gradient has a use in the update, which keeps the parameter and no state.
  void set_to_zero_takes_every_gradient_and_changes_no_parameter() {
    Trained made = trained();
    find_optimizer("set_to_zero")->append(made.graph, options_of("set_to_zero", {}), {});
    const Graph& graph = made.graph;
    verify(graph);
    QCOMPARE(graph.states.size(), size_t{2});
    for (StateId id : {made.weight, made.bias}) {
      const Op& update = maker_of(graph, graph.states[id].after);
      QVERIFY(update.phase == Phase::update && update.definition == &op_definition("no_update"));
      QVERIFY((update.inputs == std::vector<ValueId>{graph.states[id].before, graph.states[id].gradient}));
    }
  }

  // Sums of squares of all gradients make one norm, which every gradient is clipped by before its update.
  void clipped_updates_take_gradients_that_share_one_norm() {
    for (const auto& [optimizer, more] : std::vector<std::pair<const char*, OptionList>>{{"adam", {}},
                                                                                         {"adamw", {}},
                                                                                         {"sgd", {}},
                                                                                         {"sgd", {{"momentum", 0.9}}},
                                                                                         {"lion", {}},
                                                                                         {"set_to_zero", {}}}) {
      Trained made = trained();
      OptionList clipped{{"clip_by_global_norm", 2.0}};
      if (std::string(optimizer) != "set_to_zero") clipped.emplace_back("learning_rate", 0.5);
      clipped.insert(clipped.end(), more.begin(), more.end());
      find_optimizer(optimizer)->append(made.graph, options_of(optimizer, clipped), {});
      const Graph& graph = made.graph;
      verify(graph);
      std::vector<ValueId> norms;
      for (StateId id : graph.trainable()) {
        const Op& clip = maker_of(graph, maker_of(graph, graph.states[id].after).inputs[1]);
        QVERIFY(clip.definition == &op_definition("clip_by_global_norm"));
        QCOMPARE(clip.attributes.as<ClipAttributes>().max_norm, 2.0);
        QCOMPARE(clip.inputs[0], made.cotangents[graph.states[id].before]);
        norms.push_back(clip.inputs[1]);
      }
      QCOMPARE(norms, std::vector<ValueId>(2, norms[0]));
      const Op& norm = maker_of(graph, norms[0]);
      QVERIFY(norm.definition == &op_definition("global_norm"));
      QCOMPARE(norm.inputs.size(), size_t{2});
      for (size_t i = 0; i < 2; ++i) {
        const Op& squares = maker_of(graph, norm.inputs[i]);
        QVERIFY(squares.definition == &op_definition("sum_of_squares") && squares.phase == Phase::update);
        QCOMPARE(squares.inputs[0], graph.states[graph.trainable()[i]].gradient);
      }
    }
  }
};

REGISTER_TEST(OptimizerTest)

}  // namespace optimizer_test

#include "optimizer_test.moc"
