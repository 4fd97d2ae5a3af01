#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QTemporaryDir>
#include <QtTest>

#include <map>
#include <random>
#include <set>

#include "engine/machine/host_machine.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace decoder_splits_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Decoders of four layers, so that they have four model chunks.
const std::vector<std::string> decoders{"qwen3_tiny", "gemma3_tiny", "mixtral_tiny", "deepseek_v3_tiny",
                                        "gpt_oss_tiny"};
const std::vector<std::string> policies{"none", "full", "attention", "mlp"};
const std::vector<std::string> schedules{"none", "gpipe", "1f1b", "interleaved", "zero_bubble"};
// data, context, expert, model
const std::vector<std::vector<int64_t>> meshes{{2, 2, 2, 1}, {1, 2, 2, 2}, {1, 2, 2, 1}, {2, 1, 2, 1}, {2, 2, 1, 1},
                                               {1, 1, 2, 2}, {1, 4, 1, 1}, {1, 1, 4, 1}, {1, 2, 1, 2}, {2, 1, 1, 2}};

struct Split {
  std::string preset = "mixtral_tiny";
  std::vector<int64_t> mesh{1, 1, 1, 1};
  std::string schedule = "none", policy = "none";
  int64_t microbatches = 1, zero = 0;
  LayoutMode mode = LayoutMode::fastest;
  bool ring = false;
  std::vector<std::string> zero_axes = {"data"};

  std::string text() const {
    return fmt::format("{} {}x{}x{}x{} {} in {} {} zero {} {} {} {}", preset, mesh[0], mesh[1], mesh[2], mesh[3],
                       schedule, microbatches, policy, zero, fmt::join(zero_axes, " "),
                       mode == LayoutMode::fastest ? "fastest" : "as written", ring ? "ring" : "gather");
  }
};

RunConfig run_of(const Split& split, const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings = system_preset(split.preset).small;
  settings.insert(settings.end(), more.begin(), more.end());
  settings.push_back("model.overrides.num_hidden_layers=4");
  settings.push_back(std::string("model.context_attention=") + (split.ring ? "ring" : "gather"));
  if (split.preset == "gemma3_tiny" || split.preset == "gpt_oss_tiny") {
    settings.push_back(
        R"(model.overrides.layer_types=["sliding_attention","full_attention","sliding_attention","full_attention"])");
    settings.push_back("model.overrides.sliding_window=5");
  }
  RunConfig config = system_run(split.preset, settings);
  config.mesh_axes.clear();
  const char* names[] = {"data", "context", "expert", "model"};
  for (size_t axis = 0; axis < 4; ++axis) config.mesh_axes.push_back({names[axis], split.mesh[axis]});
  config.sharding = {};
  config.sharding.mode = split.mode;
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data", "expert"}, {"context"}}};
  config.sharding.rules = {rule_for_experts()};
  if (split.zero > 0) config.sharding.zero = {split.zero, split.zero_axes};
  config.schedule.rematerialise = split.policy;
  config.schedule.microbatches = split.microbatches;
  if (split.schedule != "none") {
    config.mesh_axes.push_back({"pipeline", 2});
    config.pipeline = {"pipeline", split.schedule, split.schedule == "interleaved" ? 2 : 1, {}};
  }
  return config;
}

const ThreadTraining& alone(const std::string& preset) {
  static std::map<std::string, ThreadTraining> known;
  const auto [entry, added] = known.try_emplace(preset);
  if (added) {
    Split one;
    one.preset = preset;
    entry->second = train_in_threads(compile({run_of(one), reference_host()}), serial_steps);
  }
  return entry->second;
}

// Legal ones among random ones, of at most eight devices.
std::vector<Split> random_splits(size_t count) {
  std::mt19937 engine(30);
  const auto one_of = [&](const auto& list) { return list[engine() % std::size(list)]; };
  std::vector<Split> splits;
  while (splits.size() < count) {
    Split split;
    split.preset = decoders[splits.size() % decoders.size()];
    split.mesh = one_of(meshes);
    split.schedule = schedules[splits.size() / decoders.size() % schedules.size()];
    split.policy = one_of(policies);
    split.microbatches = int64_t{1} << engine() % 3;
    split.zero = engine() % 4;
    if (engine() % 2 == 0) split.zero_axes = {"data", "expert", "context"};
    split.mode = engine() % 2 == 0 ? LayoutMode::fastest : LayoutMode::as_written;
    split.ring = engine() % 2 == 0;
    int64_t devices = split.schedule == "none" ? 1 : 2;
    for (int64_t size : split.mesh) devices *= size;
    if (devices <= 8 && validate(run_of(split)).empty()) splits.push_back(split);
  }
  return splits;
}

}  // namespace

class DecoderSplitsTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 1: experts, context, data and tensors with stages, ZeRO, recomputed layers and microbatches.
  void decoders_train_as_on_one_device_data() {
    QTest::addColumn<int>("index");
    const std::vector<Split> splits = random_splits(50);
    for (size_t i = 0; i < splits.size(); ++i) {
      QTest::newRow(fmt::format("{}: {}", i, splits[i].text()).c_str()) << static_cast<int>(i);
    }
  }
  void decoders_train_as_on_one_device() {
    QFETCH(int, index);
    static const std::vector<Split> splits = random_splits(50);
    const Split& split = splits[static_cast<size_t>(index)];
    const Plan plan = compile({run_of(split), reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, alone(split.preset), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
    if (!plan.expert_layers.empty()) QVERIFY(training.expert_loads[0] == alone(split.preset).expert_loads[0]);
  }

  // Where the batch is whole: microbatches are balanced each for itself.
  void experts_are_balanced_as_on_one_device() {
    const std::vector<std::string> balanced{"model.overrides.output_router_logits=true",
                                            "model.overrides.router_aux_loss_coef=0.1"};
    const auto trained = [&](const Plan& plan) { return train_in_threads(plan, serial_steps); };
    std::map<std::string, ThreadTraining> whole;
    for (const std::string preset : {"mixtral_tiny", "gpt_oss_tiny"}) {
      Split one;
      one.preset = preset;
      whole[preset] = trained(compile({run_of(one, balanced), reference_host()}));
      const std::vector<MetricValue>& metrics = whole[preset].steps[0].metrics;
      const double loss = value_of(metrics, "loss"), aux = value_of(metrics, "aux_loss");
      QVERIFY(std::abs(loss - 0.1 * aux - value_of(alone(preset).steps[0].metrics, "loss")) < 1e-5 * loss);
    }
    const auto fastest = LayoutMode::fastest, as_written = LayoutMode::as_written;
    for (const Split& split : {Split{"mixtral_tiny", {1, 2, 2, 2}, "none", "full", 1, 0, fastest, true},
                               Split{"mixtral_tiny", {2, 2, 2, 1}, "none", "none", 1, 2, as_written, true},
                               Split{"mixtral_tiny", {1, 1, 4, 1}, "gpipe", "mlp", 1, 0, as_written},
                               Split{"mixtral_tiny", {2, 1, 2, 1}, "1f1b", "none", 1, 3, fastest},
                               Split{"gpt_oss_tiny", {2, 1, 2, 1}, "none", "none", 1, 0, fastest}}) {
      const Plan plan = compile({run_of(split, balanced), reference_host()});
      const ThreadTraining training = trained(plan);
      compare_with_serial(training, whole[split.preset], 1e-3, is_key_bias);
      compare_with_prediction(training, plan);
    }
  }

  void what_one_mesh_saves_another_goes_on_with() {
    const std::vector<std::pair<Split, Split>> pairs{
        {{"mixtral_tiny", {1, 2, 2, 1}, "1f1b", "full", 2, 0, LayoutMode::fastest, true},
         {"mixtral_tiny", {2, 1, 2, 2}}},
        {{"deepseek_v3_tiny", {1, 1, 4, 1}}, {"deepseek_v3_tiny", {2, 2, 1, 1}, "zero_bubble", "mlp", 4, 1}},
        {{"gpt_oss_tiny", {2, 1, 2, 1}, "none", "none", 1, 3}, {"gpt_oss_tiny", {1, 2, 2, 1}, "gpipe", "none", 2}}};
    for (const auto& [writer, reader] : pairs) {
      QTemporaryDir folder;
      CheckpointOptions into, from;
      into.folder = from.resume = folder.path().toStdString();
      train_in_threads(compile({run_of(writer), reference_host()}), serial_steps - 1, {}, {}, {}, into);
      const ThreadTraining rest =
          train_in_threads(compile({run_of(reader), reference_host()}), serial_steps, {}, {}, {}, from);
      QCOMPARE(rest.steps.size(), size_t{1});
      ThreadTraining expected = alone(reader.preset);
      expected.steps.erase(expected.steps.begin(), expected.steps.end() - 1);
      compare_with_serial(rest, expected, 1e-3, [](auto&&...) { return false; });
    }
  }
};

REGISTER_TEST(DecoderSplitsTest)

}  // namespace decoder_splits_test

#include "decoder_splits_test.moc"
