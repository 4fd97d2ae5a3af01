#include <QtTest>
#include <thread>

#include "engine/base/align.h"
#include "engine/comm/thread_communicator.h"
#include "engine/machine/host_machine.h"
#include "engine/runtime/executor.h"
#include "engine/worker/input_filler.h"
#include "tests/compile/plan_check.h"
#include "tests/laws/preset_case.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace evaluating_test {

using namespace shardscope;

namespace {

struct Case {
  const char* preset;
  MeshSize mesh;
  LayoutMode mode;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* preset : {"parallax_decoder", "parallax_decoder_2"}) {
    for (const MeshSize& mesh : {MeshSize{1, 1}, MeshSize{2, 2}, MeshSize{4, 2}, MeshSize{1, 8}}) {
      for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) all.push_back({preset, mesh, mode});
    }
  }
  return all;
}

RunConfig small_config(const Case& one, bool dropout = false) {
  std::vector<std::string> overrides = small_size();
  for (const std::string& more : mesh_overrides(one.mesh.data, one.mesh.model)) overrides.push_back(more);
  overrides.push_back(dropout ? "deterministic=false" : "deterministic=true");
  RunConfig config = load_preset(one.preset, overrides);
  config.sharding.mode = one.mode;
  return config;
}

RunConfig without_optimizer(RunConfig config) {
  config.optimizer = {};
  return config;
}

bool near(double value, double expected) { return std::abs(value - expected) <= 1e-5 * std::abs(expected); }

double first_loss(const Plan& plan) { return value_of(train_in_threads(plan, 1).steps[0].metrics, "loss"); }

// The losses that device 0 sees when all devices initialise and then run these sequences one after the other, each
// training step on the inputs of the first.
std::vector<float> losses(const Plan& plan, const std::vector<Purpose>& purposes) {
  struct alignas(line_bytes) Line {
    std::byte bytes[line_bytes];
  };
  const int devices = plan.mesh.device_count();
  auto communicators = make_thread_communicators(devices);
  std::vector<float> seen;
  std::vector<std::jthread> threads;
  for (int device = 0; device < devices; ++device) {
    threads.emplace_back([&, device] {
      std::vector<Line> arena(static_cast<size_t>(round_up(plan.arenas[0].bytes) / line_bytes));
      Executor executor(plan, device, arena.data()->bytes, *communicators[device]);
      executor.run(Purpose::initialise, {});
      InputFiller(plan, device, executor).fill(0, 0);
      int64_t step = 0;
      for (Purpose purpose : purposes) {
        const bool training = purpose == Purpose::train_step;
        executor.run(purpose, {step, training});
        step += training;
        const int loss = plan.metrics.front().values[0];
        if (device == 0) seen.push_back(*reinterpret_cast<float*>(executor.value(loss).data()));
      }
    });
  }
  threads.clear();
  return seen;
}

}  // namespace

class EvaluatingTest : public QObject {
  Q_OBJECT

 private slots:
  void a_plan_without_optimizer_is_the_forward_task_alone_and_what_initialises() {
    for (const Case& one : cases()) {
      const Plan plan = compile({without_optimizer(small_config(one)), reference_host()});
      QVERIFY(!plan.trains());
      QCOMPARE(plan.program.tasks.size(), size_t{2});
      QCOMPARE(plan.program.tasks[0].phase, Phase::forward);
      QCOMPARE(plan.program.tasks[1].phase, Phase::initialise);
      QCOMPARE(plan.instructions().size(), static_cast<int>(plan.program.tasks[0].instructions.size()));
      QCOMPARE(plan.program.main().purpose, Purpose::evaluate);
      QCOMPARE(plan.totals.memory[static_cast<int>(MemoryCategory::optimizer)], int64_t{0});
      const std::string fault = test::fault_of(plan);
      QVERIFY2(fault.empty(), fault.c_str());
    }
  }

  void without_optimizer_every_step_gives_the_loss_before_training_and_learns_nothing() {
    for (const Case& one : cases()) {
      const RunConfig config = small_config(one);
      const Plan plan = compile({without_optimizer(config), reference_host()});
      const ThreadTraining evaluated = train_in_threads(plan, 3);
      QCOMPARE(evaluated.steps.size(), size_t{3});
      const double expected = first_loss(compile({config, reference_host()}));
      for (const StepMessage& step : evaluated.steps) {
        QVERIFY(near(value_of(step.metrics, "loss"), expected));
        QCOMPARE(step.metrics, evaluated.steps[0].metrics);
        for (const RankMeasurement& use : step.ranks) {
          QCOMPARE(use.arena_bytes, plan.arenas[0].bytes);
          QCOMPARE(use.wire_bytes, plan.totals.wire_bytes_per_device);
        }
      }
      QVERIFY(evaluated.parameters == train_in_threads(plan, 0).parameters);
    }
  }

  void evaluating_drops_nothing() {
    for (const Case& one : cases()) {
      const RunConfig dropping = small_config(one, true);
      const double expected = first_loss(compile({small_config(one), reference_host()}));
      const Plan plan = compile({dropping, reference_host()});
      const std::vector<float> seen = losses(plan, {Purpose::evaluate, Purpose::train_step});
      QVERIFY(near(seen[0], expected));
      QVERIFY(std::abs(seen[1] - expected) > 1e-3);
      QVERIFY(near(first_loss(compile({without_optimizer(dropping), reference_host()})), expected));
    }
  }

  void evaluating_between_training_steps_changes_no_bit_of_them() {
    for (const Case& one : cases()) {
      const Plan plan = compile({small_config(one), reference_host()});
      constexpr Purpose train = Purpose::train_step, evaluate = Purpose::evaluate;
      const std::vector<float> alone = losses(plan, {train, train, train});
      const std::vector<float> between = losses(plan, {evaluate, train, evaluate, evaluate, train, train});
      QCOMPARE(between[0], alone[0]);
      QCOMPARE(between[1], alone[0]);
      QCOMPARE(between[2], alone[1]);
      QCOMPARE(between[3], alone[1]);
      QCOMPARE(between[4], alone[1]);
      QCOMPARE(between[5], alone[2]);
    }
  }
};

REGISTER_TEST(EvaluatingTest)

}  // namespace evaluating_test

#include "evaluating_test.moc"
