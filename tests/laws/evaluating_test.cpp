#include <QtTest>
#include <thread>

#include "engine/base/align.h"
#include "engine/comm/thread_communicator.h"
#include "engine/runtime/executor.h"
#include "engine/worker/data_source.h"
#include "engine/worker/parameter_init.h"
#include "engine/worker/thread_training.h"
#include "tests/compile/plan_check.h"
#include "tests/laws/preset_case.h"

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
      for (LayoutMode mode : {LayoutMode::cheapest, LayoutMode::as_written}) all.push_back({preset, mesh, mode});
    }
  }
  return all;
}

RunConfig small_config(const Case& one) {
  std::vector<std::string> overrides = small_size();
  for (const std::string& more : mesh_overrides(one.mesh.data, one.mesh.model)) overrides.push_back(more);
  overrides.push_back("deterministic=true");
  RunConfig config = load_preset(one.preset, overrides);
  config.sharding.mode = one.mode;
  return config;
}

RunConfig without_optimizer(RunConfig config) {
  config.optimizer = {};
  return config;
}

void fill_inputs(const Plan& plan, int device, const Executor& executor) {
  const std::unique_ptr<DataSource> source = make_data_source(plan.config.data, *plan.graph);
  size_t i = 0;
  for (const auto& [name, id] : plan.graph->inputs) {
    const int value = plan.input_values[i++];
    const ProgramValue& input = plan.program.values[value];
    source->fill(name, shard_box(input.sharding, plan.mesh, input.shape, device),
                 reinterpret_cast<int32_t*>(executor.value(value).data()));
  }
}

// The losses that device 0 sees when all devices run these sequences one after the other.
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
      std::vector<Line> arena(static_cast<size_t>(round_up(plan.arena.bytes) / line_bytes));
      Executor executor(plan, device, arena.data()->bytes, *communicators[device]);
      initialize_stored(plan, device, executor);
      fill_inputs(plan, device, executor);
      int64_t step = 0;
      for (Purpose purpose : purposes) {
        const bool training = purpose == Purpose::train_step;
        executor.run(purpose, {step, training});
        step += training;
        if (device == 0) seen.push_back(*reinterpret_cast<float*>(executor.value(plan.loss_value).data()));
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
  void a_plan_without_optimizer_is_the_forward_task_alone() {
    for (const Case& one : cases()) {
      const Plan plan = compile(without_optimizer(small_config(one)), DeviceProfile{});
      QVERIFY(!plan.trains());
      QCOMPARE(plan.program.tasks.size(), size_t{1});
      QCOMPARE(plan.program.main().purpose, Purpose::evaluate);
      QCOMPARE(plan.totals.memory[static_cast<int>(MemoryCategory::optimizer)], int64_t{0});
      const std::string fault = test::fault_of(plan);
      QVERIFY2(fault.empty(), fault.c_str());
    }
  }

  void without_optimizer_every_step_gives_the_loss_before_training_and_learns_nothing() {
    for (const Case& one : cases()) {
      const RunConfig config = small_config(one);
      const ThreadTraining trained = train_in_threads(compile(config, DeviceProfile{}), 1);
      const Plan plan = compile(without_optimizer(config), DeviceProfile{});
      const ThreadTraining evaluated = train_in_threads(plan, 3);
      QCOMPARE(evaluated.steps.size(), size_t{3});
      const double expected = trained.steps[0].record.loss;
      for (const StepReport& step : evaluated.steps) {
        QVERIFY(std::abs(step.record.loss - expected) <= 1e-5 * std::abs(expected));
        QCOMPARE(step.record.loss, evaluated.steps[0].record.loss);
        for (const RankUse& use : step.ranks) {
          QCOMPARE(use.arena_bytes, plan.arena.bytes);
          QCOMPARE(use.wire_bytes, plan.totals.wire_bytes_per_device);
        }
      }
      QVERIFY(evaluated.parameters == train_in_threads(plan, 0).parameters);
    }
  }

  void evaluating_between_training_steps_changes_no_bit_of_them() {
    for (const Case& one : cases()) {
      const Plan plan = compile(small_config(one), DeviceProfile{});
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

QTEST_APPLESS_MAIN(EvaluatingTest)
#include "evaluating_test.moc"
