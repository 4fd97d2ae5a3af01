#include <QTest>

#include "engine/machine/host_machine.h"
#include "models/registry.h"
#include "tests/compile/plan_check.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace option_pairs_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Choice {
  std::string path;
  std::vector<std::string> values;
};

// Of a model's options, those of which each value can be tried; and the run's own.
std::vector<Choice> choices_of(const ModelDefinition& model) {
  std::vector<Choice> choices{{"deterministic", {"true", "false"}}, {"sharding.mode", {"fastest", "as_written"}}};
  for (const OptionDefinition& option : model.options) {
    const bool is_switch = std::holds_alternative<bool>(option.default_value);
    if (is_switch) choices.push_back({"model." + option.name, {"true", "false"}});
    if (!option.choices.empty()) choices.push_back({"model." + option.name, option.choices});
  }
  return choices;
}

// A small run of the model, on two devices along each axis.
RunConfig small_run(const std::string& model) {
  std::vector<SystemPreset> presets = system_presets();
  presets.push_back(
      {"parallax_decoder",
       {"model.vocab_size=32", "model.seq_len=8", "model.embed_dim=32", "model.num_heads=8", "data.batch_size=16"}});
  for (const SystemPreset& preset : presets) {
    RunConfig config = system_run(preset.name, preset.small);
    if (config.model.name != model) continue;
    for (MeshAxis& axis : config.mesh_axes) axis.size = 2;
    config.mesh_devices.clear();
    config.sharding = {};  // specs are of the shapes that the preset's options make
    config.pipeline = {};
    return config;
  }
  throw std::out_of_range("no preset is of " + model);
}

std::string fault_with(const RunConfig& config, const std::vector<std::string>& settings) {
  try {
    return fault_of(compile({with_settings(config, settings), reference_host()}));
  } catch (const Failure& failure) {
    return failure.what();
  }
}

}  // namespace

class OptionPairsTest : public QObject {
  Q_OBJECT

 private slots:
  void each_pair_of_values_of_switches_and_choices_plans_data() {
    QTest::addColumn<QString>("model");
    for (const ModelDefinition& model : all_models()) QTest::newRow(model.name.c_str()) << model.name.c_str();
  }
  void each_pair_of_values_of_switches_and_choices_plans() {
    QFETCH(QString, model);
    const RunConfig config = small_run(model.toStdString());
    const std::vector<Choice> choices = choices_of(*find_model(model.toStdString()));
    int tried = 0;
    for (size_t first = 0; first < choices.size(); ++first) {
      for (size_t second = 0; second < first; ++second) {
        for (const std::string& a : choices[first].values) {
          for (const std::string& b : choices[second].values) {
            const std::vector<std::string> pair{choices[first].path + "=" + a, choices[second].path + "=" + b};
            const std::string fault = fault_with(config, pair);
            QVERIFY2(fault.empty(), (pair[0] + " " + pair[1] + ": " + fault).c_str());
            ++tried;
          }
        }
      }
    }
    QVERIFY(tried >= 12);  // each model computes in two types
  }
};

REGISTER_TEST(OptionPairsTest)

}  // namespace option_pairs_test

#include "option_pairs_test.moc"
