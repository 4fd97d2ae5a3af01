#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "engine/checkpoint/joined_dimension.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/safetensors_reader.h"
#include "engine/config/strategy.h"
#include "engine/graph/casts.h"
#include "engine/machine/host_machine.h"
#include "engine/worker/import_parameters.h"
#include "tests/config/random_strategy.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace joined_layers_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Family {
  const char* name;
  const char* config;
  std::set<std::string> joined;   // layers of one size, of one parameter
  std::set<std::string> unequal;  // of several sizes
};

const std::vector<Family>& families() {
  static const std::vector<Family> list{
      {"gpt2",
       R"({"model_type": "gpt2", "vocab_size": 64, "n_embd": 32, "n_layer": 4, "n_head": 8, "n_positions": 16,
           "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0})",
       {"c_attn"},
       {}},
      {"mpt",
       R"({"model_type": "mpt", "vocab_size": 64, "d_model": 32, "n_heads": 8, "n_layers": 4, "max_seq_len": 16})",
       {"Wqkv"},
       {}},
      {"phi3",
       R"({"model_type": "phi3", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
           "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 16, "pad_token_id": null})",
       {"qkv_proj", "gate_up_proj"},
       {}},
      {"phi3 grouped",
       R"({"model_type": "phi3", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
           "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 16, "pad_token_id": null})",
       {"gate_up_proj"},
       {"qkv_proj"}}};
  return list;
}

// Without Adam, which turns rounding into steps where a gradient is small.
constexpr double learning_rate = 0.1;

RunConfig run_of(const Family& family, bool adapters) {
  static const QTemporaryDir folder;
  const std::string path = folder.filePath(QString(family.name) + ".json").toStdString();
  std::ofstream(path) << family.config;
  RunConfig config;
  config.model = {"huggingface", {{"path", path}}};
  if (adapters) {
    TextList targets(family.joined.begin(), family.joined.end());
    targets.insert(targets.end(), family.unequal.begin(), family.unequal.end());
    config.model.options.emplace_back("lora.rank", int64_t{2});
    config.model.options.emplace_back("lora.targets", targets);
  }
  config.data = {"synthetic_lm", {{"batch_size", int64_t{8}}, {"sequence_length", int64_t{16}}}};
  config.optimizer = {"sgd", {{"learning_rate", learning_rate}}};
  return config;
}

const ThreadTraining& alone(const Family& family, bool adapters) {
  static std::map<std::pair<std::string, bool>, ThreadTraining> cache;
  const auto [entry, added] = cache.try_emplace({family.name, adapters});
  if (added) {
    const RunConfig run = with_strategy(run_of(family, adapters), {});
    entry->second = train_in_threads(compile({run, reference_host()}), serial_steps);
  }
  return entry->second;
}

StrategyConfig tensor_parallel(int64_t degree) {
  StrategyConfig strategy;
  strategy.tensor = degree;
  return strategy;
}

// On two times so many devices of axis tensor, or on one.
std::vector<double> losses_in_bf16(const Family& family, int64_t tensor) {
  StrategyConfig strategy = tensor_parallel(tensor);
  strategy.data = tensor > 1 ? 2 : 1;
  RunConfig run = with_strategy(run_of(family, false), strategy);
  run.precision.recipe = "bf16_mixed";
  return losses_of(train_in_threads(compile({run, reference_host()}), serial_steps));
}

// A file of parameters with the layers of each array following each other in one dimension.
void write_as_former_versions(const std::string& from, const std::string& to, bool in_out) {
  const SafetensorsReader reader(from);
  std::vector<NamedArray> arrays;
  std::string elements;
  for (const auto& [name, array] : reader.arrays()) {
    Shape shape = array.type.shape;
    const size_t joined = in_out && name.ends_with("c_attn/weight") ? 1 : 0;
    if (shape.size() == (name.ends_with("weight") ? 3 : 2)) shape = with_joined(shape, joined);
    arrays.push_back({name, {shape, array.type.dtype}});
    std::string bytes(static_cast<size_t>(array.type.bytes()), '\0');
    reader.read(array, std::as_writable_bytes(std::span(bytes)));
    elements += bytes;
  }
  std::ofstream(to, std::ios::binary) << SafetensorsLayout(std::move(arrays)).header() << elements;
}

bool is_of_any(const ParameterPlan& parameter, const std::set<std::string>& layers) {
  return std::ranges::any_of(parameter.path, [&](const std::string& part) { return layers.contains(part); });
}

int64_t held(const Plan& plan, int value) {
  return element_count(plan.program.values[static_cast<size_t>(value)].local_shape);
}

}  // namespace

// Linear layers that files hold as one parameter.
class JoinedLayersTest : public QObject {
  Q_OBJECT

 private slots:
  // Those of one size: weights, biases, what adapters give, and their optimizer state. No collective gathers anything.
  void tensor_parallelism_splits_joined_layers_data() { rows({1, 2, 4}); }
  void tensor_parallelism_splits_joined_layers() {
    const auto [of, adapters, number] = row();
    RunConfig run = with_strategy(run_of(of, adapters), tensor_parallel(number));
    run.optimizer = {"adamw", {{"learning_rate", 1e-3}}};
    const Plan plan = compile({run, reference_host()});
    int split = 0;
    for (const ParameterPlan& parameter : plan.parameters) {
      if (!is_of_any(parameter, of.joined) || std::ranges::count(parameter.path, "lora_A") > 0) continue;
      ++split;
      QCOMPARE(held(plan, parameter.value) * number, element_count(parameter.shape));
      for (const int state : parameter.state_values)
        QCOMPARE(held(plan, state) * number, element_count(parameter.shape));
    }
    QVERIFY(split >= 4);
    if (!of.unequal.empty()) return;
    for (const Instruction& instruction : plan.program.main_instructions()) {
      const CollectiveStart* start = instruction.as<CollectiveStart>();
      if (start) QVERIFY2(start->kind == InstructionKind::all_reduce, plan.cause(instruction).c_str());
    }
  }

  // As of layers with parameters of their own: activations move, and no part of a parameter or of its gradient.
  void sequence_parallelism_moves_no_joined_layers_data() { rows({2, 4}); }
  void sequence_parallelism_moves_no_joined_layers() {
    const auto [of, adapters, number] = row();
    if (!of.unequal.empty()) return;
    StrategyConfig strategy = tensor_parallel(number);
    strategy.sequence_parallel = true;
    const Plan plan = compile({with_strategy(run_of(of, adapters), strategy), reference_host()});
    const std::vector<bool> of_states = values_of_states(*plan.graph);
    for (const Instruction& instruction : plan.program.main_instructions()) {
      const CollectiveStart* start = instruction.as<CollectiveStart>();
      if (!start || plan.cause(instruction).find("lm_head") != std::string::npos) continue;
      QVERIFY2(start->kind != InstructionKind::all_to_all, plan.cause(instruction).c_str());
      if (start->kind != InstructionKind::all_gather) continue;
      for (const int operand : start->operands) {
        const ValueId value = plan.program.values[static_cast<size_t>(operand)].graph_value;
        QVERIFY2(!of_states[static_cast<size_t>(value)], plan.cause(instruction).c_str());
      }
    }
  }

  // Law 1.
  void every_strategy_trains_as_one_device_data() { rows({0, 1, 2, 3, 4, 5}); }
  void every_strategy_trains_as_one_device() {
    const auto [of, adapters, number] = row();
    RandomStrategies strategies(static_cast<uint32_t>(number), 8);
    RunConfig config;
    StrategyConfig strategy;
    do {
      strategy = strategies.next();
      config = with_strategy(run_of(of, adapters), strategy);
    } while (strategy.tensor < 2 || !validate(config).empty());
    const Plan plan = compile({config, reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, alone(of, adapters), learning_rate, is_key_bias);
    compare_with_prediction(training, plan);
  }

  void in_bf16_losses_stay_near_those_of_one_device() {
    for (const Family& family : families()) {
      const std::vector<double> one = losses_in_bf16(family, 1), split = losses_in_bf16(family, 2);
      for (size_t i = 0; i < one.size(); ++i) QVERIFY2(std::abs(split[i] - one[i]) < 1e-2 * one[i], family.name);
    }
  }

  void parameters_that_former_versions_wrote_are_imported_data() { rows({2}); }
  void parameters_that_former_versions_wrote_are_imported() {
    const auto [of, adapters, number] = row();
    const Plan plan = compile({with_strategy(run_of(of, adapters), tensor_parallel(number)), reference_host()});
    const QTemporaryDir folder;
    const auto path = [&](const char* name) { return folder.filePath(name).toStdString(); };
    std::ofstream(path("now")) << "";
    const ThreadTraining trained = train_in_threads(plan, 1, {}, {}, path("now"));
    write_as_former_versions(path("now"), path("former"), of.name == std::string("gpt2"));
    import_parameters(plan, path("former"), path("imported"));
    CheckpointOptions options;
    options.resume = path("imported");
    QVERIFY(train_in_threads(plan, 0, {}, {}, {}, options).parameters == trained.parameters);
  }

 private:
  struct Row {
    const Family& family;
    bool adapters;
    int number;
  };
  static Row row() {
    QFETCH(int, family);
    QFETCH(bool, adapters);
    QFETCH(int, number);
    return {families()[static_cast<size_t>(family)], adapters, number};
  }
  static void rows(const std::vector<int>& numbers) {
    QTest::addColumn<int>("family");
    QTest::addColumn<bool>("adapters");
    QTest::addColumn<int>("number");
    for (int i = 0; i < static_cast<int>(families().size()); ++i) {
      for (const bool adapters : {false, true}) {
        for (const int number : numbers)
          QTest::addRow("%s%s %d", families()[i].name, adapters ? " adapters" : "", number) << i << adapters << number;
      }
    }
  }
};

REGISTER_TEST(JoinedLayersTest)

}  // namespace joined_layers_test

#include "joined_layers_test.moc"
