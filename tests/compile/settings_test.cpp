#include "engine/compile/settings.h"

#include <QTest>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/compile/changed_settings.h"
#include "engine/compile/compile.h"
#include "engine/compile/data_request.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/training_graph.h"
#include "engine/config/parse.h"
#include "engine/config/write.h"
#include "engine/data/data_kind.h"
#include "models/registry.h"
#include "tests/test_program.h"

namespace settings_test {

using namespace shardscope;

namespace {

std::vector<RunConfig> all_presets() {
  std::vector<RunConfig> presets;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets"))
    if (file.path().extension() == ".json") presets.push_back(load_run_file(file.path()));
  return presets;
}

std::string text_of(const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return std::to_string(*real);
  if (const auto* list = std::get_if<TextList>(&value)) return nlohmann::json(*list).dump();
  return std::get<std::string>(value);
}

std::vector<std::string> at_defaults(const std::string& section, const std::vector<OptionDefinition>& options) {
  std::vector<std::string> assignments;
  for (const OptionDefinition& option : options)
    if (!option.is_path && !option.is_open)
      assignments.push_back(section + "." + option.name + "=" + text_of(option.default_value));
  return assignments;
}

}  // namespace

class SettingsTest : public QObject {
  Q_OBJECT

 private slots:
  void what_changes_the_numbers_of_a_run_is_listed_by_path() {
    const RunConfig before = load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/tiny_text.json");
    const auto changes = [&](const std::vector<std::string>& assignments, bool with_paths = true) {
      return changed_settings(write_run_config(before), write_run_config(with_settings(before, assignments)),
                              with_paths);
    };
    using Lines = std::vector<std::string>;
    QCOMPARE(changes({}), Lines());
    QCOMPARE(changes({"seed=7", "data.seed=3", "data.batch_size=32", "optimizer.learning_rate=0.5"}),
             (Lines{"data.batch_size: 16 -> 32", "data.seed: 0 -> 3", "optimizer.learning_rate: 0.003 -> 0.5",
                    "seed: 0 -> 7"}));
    // A default that is written out is no change, one that is not is compared.
    QVERIFY(before.data.find("validation_path") == nullptr);
    QCOMPARE(changes({"data.validation_path=\"\""}), Lines());
    QCOMPARE(changes({"schedule.microbatches=2", "deterministic=true"}),
             (Lines{"schedule.microbatches: 1 -> 2", "deterministic: false -> true"}));
    // In which types it computes, however that is said.
    const Lines in_bf16{"precision.compute: \"f32\" -> \"bf16\"", "precision.reduction: \"f32\" -> \"bf16\""};
    QCOMPARE(changes({"precision.compute=bf16"}), in_bf16);
    QCOMPARE(changes({"model.compute_dtype=bf16"}), in_bf16);
    QCOMPARE(changes({"precision=f32"}), Lines());
    const Lines mixed = changes({"precision=bf16_mixed"});
    for (const char* line : {"precision.parameters: \"f32\" -> \"bf16\"", "precision.master: none -> \"f32\""})
      QVERIFY2(std::ranges::find(mixed, line) != mixed.end(), line);
    // By rounding alone, or not at all.
    QCOMPARE(changes({"mesh.data=1", "steps=100000", "sharding.mode=as_written"}), Lines());
    QCOMPARE(changes({"data.path=/elsewhere/tiny_text.txt"}).size(), size_t{1});
    QCOMPARE(changes({"data.path=/elsewhere/tiny_text.txt"}, false), Lines());
    const Lines other = changes({"optimizer.name=sgd"});
    QVERIFY(std::ranges::find(other, "optimizer.name: \"adamw\" -> \"sgd\"") != other.end());
  }

  void what_changes_in_a_description_of_a_network_is_listed_by_path() {
    const std::string before = R"({"rope_scaling": {"factor": 8, "type": "linear"}, "rope_theta": 500000})";
    QCOMPARE(changed_description(before, before), std::vector<std::string>());
    QCOMPARE(
        changed_description(before, R"({"rope_scaling": {"factor": 4}, "rope_theta": 500000, "eps": 1})"),
        (std::vector<std::string>{"config.json rope_scaling.factor: 8 -> 4",
                                  "config.json rope_scaling.type: \"linear\" -> none", "config.json eps: none -> 1"}));
  }

  void every_option_of_a_model_may_be_set_whether_or_not_the_file_names_it() {
    for (RunConfig preset : all_presets()) {
      preset.pipeline = {};             // which has a word in how many layers there are
      preset.sharding.parameters = {};  // whose specs are of the shapes that other options have made
      const std::vector<std::string> all = at_defaults("model", find_model(preset.model.name)->options);
      for (const std::string& assignment : all) with_settings(preset, {assignment});
      QVERIFY(validate(with_settings(preset, all)).empty());
    }
  }

  void every_model_computes_in_bf16_where_that_is_set() {
    for (const RunConfig& preset : all_presets())
      QVERIFY(validate(with_settings(preset, {"model.compute_dtype=bf16"})).empty());
  }

  void another_kind_of_data_needs_no_other_setting() {
    int others = 0;
    for (const RunConfig& preset : all_presets()) {
      const ForwardGraph forward = build_forward(preset);
      for (const DataKind& kind : all_data_kinds()) {
        if (!serves(kind, data_request(*forward.graph))) continue;
        std::vector<std::string> settings{"data.kind=" + kind.name};
        if (kind.check_files && !preset.data.find("path"))
          settings.push_back("data.path=" SHARDSCOPE_SOURCE_DIR "/presets/tiny_text.txt");
        const RunConfig changed = with_settings(preset, settings);
        const std::vector<Error> errors = validate(changed);
        QVERIFY2(errors.empty(), (preset.model.name + " " + kind.name).c_str());
        others += kind.name != preset.data.name;
        for (const auto& [name, value] : preset.data.options) {
          const bool known = std::ranges::find(kind.options, name, &OptionDefinition::name) != kind.options.end();
          QCOMPARE(changed.data.find(name) != nullptr, known);
        }
      }
    }
    QVERIFY(others >= 12);
  }

  void an_option_that_the_new_kind_does_not_have_may_not_be_set() {
    const RunConfig preset =
        load_run_config(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets" / "tiny_lm_dp.json");
    try {
      with_settings(preset, {"data.kind=zeros", "data.dataset_size=64"});
      QFAIL("accepted");
    } catch (const Failure& failure) {
      QCOMPARE(failure.errors().at(0).code, std::string("unknown_path"));
      QCOMPARE(to_string(failure.errors().at(0).place), std::string("--set data.dataset_size"));
    }
    QCOMPARE(*with_settings(preset, {"data.dataset_size=64"}).data.find("dataset_size"), OptionValue(int64_t{64}));
    QCOMPARE(
        *with_settings(with_settings(preset, {"data.kind=zeros"}), {"data.kind=numpy_batches", "data.dataset_size=64"})
             .data.find("dataset_size"),
        OptionValue(int64_t{64}));
  }

  void another_optimizer_keeps_the_options_that_it_has() {
    for (const RunConfig& preset : all_presets()) {
      const RunConfig changed = with_settings(preset, {"optimizer.name=sgd", "optimizer.learning_rate=0.5"});
      QVERIFY(validate(changed).empty());
      QCOMPARE(*changed.optimizer.find("learning_rate"), OptionValue(0.5));
    }
  }
};

REGISTER_TEST(SettingsTest)

}  // namespace settings_test

#include "settings_test.moc"
