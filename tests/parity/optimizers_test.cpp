#include <QtTest>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/ops/initialise.h"
#include "engine/optim/optimizer.h"
#include "tests/runtime/kernel_case.h"
#include "tests/test_program.h"

namespace optimizers_parity_test {

using namespace shardscope;
using Json = nlohmann::ordered_json;

namespace {

Json golden() { return Json::parse(std::ifstream(SHARDSCOPE_SOURCE_DIR "/tests/golden/optimizers.json")); }

OptionList options_of(const Json& section) {
  OptionList given;
  for (const auto& [key, value] : section.items()) {
    if (key == "name") continue;
    if (value.is_boolean()) given.emplace_back(key, value.get<bool>());
    else if (value.is_string()) given.emplace_back(key, value.get<std::string>());
    else if (value.is_number_integer()) given.emplace_back(key, value.get<int64_t>());
    else given.emplace_back(key, value.get<double>());
  }
  std::vector<Error> errors;
  const OptionList options =
      resolve_options(find_optimizer(section["name"].get<std::string>())->options, given, "optimizer", errors);
  if (!errors.empty()) throw Failure(errors);
  return options;
}

// One parameter with its gradient, and the optimizer's update of it.
struct Update {
  Graph graph;
  StateId parameter = 0;

  Update(const Json& section, const Shape& shape) {
    const InitialiseAttributes zero{InitialiseAttributes::Kind::constant, 0, {}, {shape, DType::f32}};
    parameter = graph.add_state(op_definition("initialise"), zero, "params", {"params", "kernel"});
    graph.states[parameter].trainable = true;
    const OpId gradient = graph.add_op(op_definition("initialise"), "gradient", Phase::backward, {}, zero);
    graph.states[parameter].gradient = graph.ops[gradient].outputs[0];
    find_optimizer(section["name"].get<std::string>())->append(graph, options_of(section), {});
  }
};

using Arrays = std::map<ValueId, std::vector<float>>;

// Runs the update's ops in their order; results take the place of what they are made of.
void run(const Graph& graph, int64_t step, Arrays& values) {
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::update) continue;
    testing::KernelCase kernel(std::string(op.definition->name()), op.attributes);
    for (ValueId input : op.inputs) kernel.input(graph.type(input).shape, values.at(input));
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const int over = op.definition->in_place_operand(static_cast<int>(i));
      if (over >= 0 && op.definition->must_be_in_place()) kernel.output_over(over);
      else kernel.output(graph.type(op.outputs[i]).shape);
    }
    kernel.run(1, step);
    for (size_t i = 0; i < op.outputs.size(); ++i) values[op.outputs[i]] = kernel.result(static_cast<int>(i));
  }
}

}  // namespace

// Law 7 for optimizers by themselves: the golden file is Optax's own output.
class OptimizersParityTest : public QObject {
  Q_OBJECT

 private slots:
  void updates_are_those_of_optax_data() {
    QTest::addColumn<int>("index");
    const Json cases = golden();
    for (size_t i = 0; i < cases.size(); ++i)
      QTest::newRow(cases[i]["optimizer"].dump().c_str()) << static_cast<int>(i);
    QVERIFY(cases.size() >= 8);
  }
  void updates_are_those_of_optax() {
    QFETCH(int, index);
    const Json one = golden()[static_cast<size_t>(index)];
    const auto first = one["parameter"].get<std::vector<float>>();
    const Shape shape{std::ssize(first)};
    const Update update(one["optimizer"], shape);
    const Graph& graph = update.graph;
    Arrays values;
    for (const State& state : graph.states) values[state.before] = std::vector<float>(first.size());
    values[graph.states[update.parameter].before] = first;
    for (size_t step = 0; step < one["gradients"].size(); ++step) {
      values[graph.states[update.parameter].gradient] = one["gradients"][step].get<std::vector<float>>();
      run(graph, static_cast<int64_t>(step), values);
      for (const State& state : graph.states) values[state.before] = values.at(state.after);
      const double far = testing::difference(values.at(graph.states[update.parameter].before),
                                             one["values"][step].get<std::vector<double>>());
      QVERIFY2(far < 1e-6, qPrintable(QString("step %1: %2").arg(step).arg(far)));
    }
    size_t kept = 0;
    for (const State& state : graph.states) {
      if (!state.is_of_optimizer()) continue;
      const Json expected = one["kept"][state.collection.substr(10)];
      QVERIFY2(testing::difference(values.at(state.before), expected.get<std::vector<double>>()) < 1e-6,
               state.collection.c_str());
      ++kept;
    }
    QCOMPARE(kept, one["kept"].size());
  }
};

REGISTER_TEST(OptimizersParityTest)

}  // namespace optimizers_parity_test

#include "optimizers_test.moc"
