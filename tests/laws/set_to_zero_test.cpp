#include <QtTest>
#include <thread>

#include "engine/base/align.h"
#include "engine/comm/thread_communicator.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/host_machine.h"
#include "engine/runtime/executor.h"
#include "engine/worker/input_filler.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace set_to_zero_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

Plan plan_of(const std::string& preset, const std::vector<std::string>& settings, const std::vector<int64_t>& mesh) {
  std::vector<std::string> all = system_preset(preset).small;
  all.insert(all.end(), settings.begin(), settings.end());
  return compile({system_run(preset, all, mesh), reference_host()});
}

// What each update takes as its gradient, on each device, when a step is over: its second operand; or what sgd without
// decay keeps of it, which is the gradient itself.
using Gradients = std::map<std::pair<std::string, int>, std::vector<float>>;

Gradients gradients_after_a_step(const Plan& plan) {
  struct alignas(line_bytes) Line {
    std::byte bytes[line_bytes];
  };
  const int devices = plan.mesh.device_count();
  auto communicators = make_thread_communicators(devices);
  Gradients gradients;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (int device = 0; device < devices; ++device) {
    threads.emplace_back([&, device] {
      std::vector<Line> arena(static_cast<size_t>(round_up(plan.arenas[0].bytes) / line_bytes));
      Executor executor(plan, device, arena.data()->bytes, *communicators[static_cast<size_t>(device)]);
      executor.run(Purpose::initialise, {});
      InputFiller(plan, device, executor).fill(0, 0);
      executor.run(Purpose::train_step, {0, true});
      for (const Instruction& instruction : plan.instructions()) {
        if (!instruction.as<Compute>() || instruction.phase != Phase::update) continue;
        const Op& op = plan.graph->ops[instruction.op];
        const std::span<std::byte> bytes =
            executor.value(op.definition->name() == "sgd" ? instruction.results()[1] : instruction.operands()[1]);
        const auto* first = reinterpret_cast<const float*>(bytes.data());
        const std::lock_guard lock(mutex);
        gradients[{op.name.substr(0, op.name.rfind('/')), device}] = {first, first + bytes.size() / sizeof(float)};
      }
    });
  }
  threads.clear();
  return gradients;
}

struct Case {
  const char* preset;
  std::vector<int64_t> mesh;
  std::vector<std::string> settings;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"tiny_lm_dp", {1}, {}},
      {"tiny_lm_dp", {4}, {}},
      {"tiny_lm_dp", {4}, {"schedule.microbatches=2"}},
      {"tiny_lm_dp", {4}, {"schedule.microbatches=2", "sharding.zero.stage=2", "schedule.rematerialise=full"}},
      {"tiny_lm_dp", {2}, {"sharding.zero.stage=3"}},
      {"tiny_lm_fsdp", {4}, {"optimizer.clip_by_global_norm=0.5"}},
      {"workshop_tp", {2, 4}, {"sharding.zero.stage=1"}},
      {"workshop_tp", {2, 4}, {"data.kind=ones", "sharding.mode=fastest"}},
      {"workshop_tp", {2, 4}, {"data.kind=ones", "model.norms=false", "model.residuals=false"}},
      {"mintext_transformer", {4, 2}, {"model.compute_dtype=bf16"}},
      {"workshop_gpipe", {2}, {"pipeline.layers=[]", "pipeline.schedule=1f1b"}}};
  return all;
}

void add_rows() {
  QTest::addColumn<int>("index");
  for (size_t i = 0; i < cases().size(); ++i)
    QTest::newRow((std::to_string(i) + " " + cases()[i].preset).c_str()) << static_cast<int>(i);
}

}  // namespace

// Gradients without an update.
class SetToZeroTest : public QObject {
  Q_OBJECT

 private slots:
  void a_step_changes_no_parameter_and_uses_what_was_planned_data() { add_rows(); }
  void a_step_changes_no_parameter_and_uses_what_was_planned() {
    QFETCH(int, index);
    const Case& one = cases()[static_cast<size_t>(index)];
    std::vector<std::string> settings{"optimizer.name=set_to_zero"};
    settings.insert(settings.end(), one.settings.begin(), one.settings.end());
    const Plan plan = plan_of(one.preset, settings, one.mesh);
    QVERIFY(plan.trains());
    QCOMPARE(plan.totals.memory[static_cast<size_t>(MemoryCategory::optimizer)], int64_t{0});
    const ThreadTraining training = train_in_threads(plan, 3), before = train_in_threads(plan, 0);
    QCOMPARE(training.steps.size(), size_t{3});
    QVERIFY(training.parameters == before.parameters && !before.parameters.empty());
    QVERIFY(training.optimizer.empty());
    compare_with_prediction(training, plan);
  }

  void the_loss_of_each_step_is_that_of_the_forward_pass_alone_data() { add_rows(); }
  void the_loss_of_each_step_is_that_of_the_forward_pass_alone() {
    QFETCH(int, index);
    const Case& one = cases()[static_cast<size_t>(index)];
    const auto losses = [&](const char* optimizer) {
      std::vector<std::string> settings{optimizer};
      for (const std::string& setting : one.settings) {
        if (!setting.starts_with("optimizer.")) settings.push_back(setting);
      }
      return losses_of(train_in_threads(plan_of(one.preset, settings, one.mesh), 3));
    };
    const std::vector<double> ours = losses("optimizer.name=set_to_zero"), forward = losses("optimizer=null");
    QCOMPARE(ours.size(), forward.size());
    const double tolerance = std::ranges::count(one.settings, "model.compute_dtype=bf16") > 0 ? 2e-3 : 1e-5;
    for (size_t s = 0; s < ours.size(); ++s) QVERIFY(std::abs(ours[s] - forward[s]) <= tolerance * forward[s]);
  }

  void gradients_are_those_that_sgd_would_use_and_are_there_when_the_step_is_over_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QList<int>>("mesh");
    QTest::addColumn<QString>("stage");
    for (const char* stage : {"0", "3"}) {
      QTest::addRow("one device, zero %s", stage) << "tiny_lm_dp" << QList<int>{1} << stage;
      QTest::addRow("data, zero %s", stage) << "tiny_lm_dp" << QList<int>{4} << stage;
      QTest::addRow("data and model, zero %s", stage) << "workshop_tp" << QList<int>{2, 2} << stage;
    }
  }
  void gradients_are_those_that_sgd_would_use_and_are_there_when_the_step_is_over() {
    QFETCH(QString, preset);
    QFETCH(QList<int>, mesh);
    QFETCH(QString, stage);
    const std::vector<int64_t> sizes(mesh.begin(), mesh.end());
    const std::vector<std::string> common{"sharding.mode=as_written", "sharding.zero.stage=" + stage.toStdString()};
    const auto gradients = [&](std::vector<std::string> settings) {
      settings.insert(settings.end(), common.begin(), common.end());
      return gradients_after_a_step(plan_of(preset.toStdString(), settings, sizes));
    };
    const Gradients ours = gradients({"optimizer.name=set_to_zero"});
    const Gradients sgd = gradients({"optimizer.name=sgd", "optimizer.decay=0", "optimizer.learning_rate=0.1"});
    QVERIFY(!ours.empty());
    QCOMPARE(ours.size(), sgd.size());
    for (const auto& [key, values] : sgd) {
      QVERIFY2(ours.at(key) == values, key.first.c_str());
      QVERIFY2(norm(values) > 0, key.first.c_str());
    }
  }

  void it_sends_what_sgd_sends_and_keeps_its_state_less() {
    for (const Case& one : cases()) {
      if (std::ranges::any_of(one.settings, [](const std::string& s) { return s.starts_with("sharding.zero"); }))
        continue;
      std::vector<std::string> settings{"sharding.mode=as_written"};
      for (const std::string& setting : one.settings) {
        if (setting != "sharding.mode=fastest") settings.push_back(setting);
      }
      const auto totals = [&](const char* optimizer) {
        std::vector<std::string> all = settings;
        all.insert(all.begin(), optimizer);
        if (std::string(optimizer).ends_with("sgd")) all.insert(all.begin() + 1, "optimizer.learning_rate=0.1");
        return plan_of(one.preset, all, one.mesh).totals;
      };
      const PlanTotals ours = totals("optimizer.name=set_to_zero"), sgd = totals("optimizer.name=sgd");
      QCOMPARE(ours.wire_bytes_per_device, sgd.wire_bytes_per_device);
      QVERIFY(ours.memory_total < sgd.memory_total);
      QVERIFY(ours.seconds_per_step < sgd.seconds_per_step);
    }
  }

  void an_option_of_a_learning_rate_is_an_error_at_its_place() {
    RunConfig config = system_run("tiny_lm_dp", {"optimizer.name=set_to_zero"});
    QVERIFY(validate(config).empty());
    config.optimizer.options.emplace_back("learning_rate", 0.1);
    const std::vector<Error> errors = validate(config);
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code + " " + to_string(errors[0].place), std::string("unknown_key optimizer.learning_rate"));
  }

  void a_resumed_run_goes_on() {
    QTemporaryDir folder;
    CheckpointOptions into, from;
    into.folder = from.resume = folder.path().toStdString();
    const Plan plan = plan_of("tiny_lm_fsdp", {"optimizer.name=set_to_zero"}, {4});
    const ThreadTraining half = train_in_threads(plan, 2, {}, {}, {}, into);
    const ThreadTraining whole = train_in_threads(plan, 4), rest = train_in_threads(plan, 4, {}, {}, {}, from);
    QCOMPARE(rest.steps.size(), size_t{2});
    QVERIFY(rest.parameters == whole.parameters);
    std::vector<double> losses = losses_of(whole);
    losses.erase(losses.begin(), losses.begin() + 2);
    QCOMPARE(losses_of(rest), losses);
  }
};

REGISTER_TEST(SetToZeroTest)

}  // namespace set_to_zero_test

#include "set_to_zero_test.moc"
