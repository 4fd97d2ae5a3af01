#include "engine/comm/thread_communicator.h"
#include "engine/worker/thread_training.h"

#include <QTest>
#include <algorithm>
#include <new>
#include <thread>

#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"
#include "engine/runtime/kernels/kernel.h"

using namespace shardscope;

namespace {

AxisList list(std::initializer_list<AxisIndex> axes) {
  AxisList result;
  for (AxisIndex axis : axes) result.push_back(axis);
  return result;
}

// A plan that stores a parameter and its state, and whose step is one all-gather of the parameter: all that a training
// loop needs, without a network.
Plan gathering_plan() {
  auto graph = std::make_shared<Graph>();
  Plan plan;
  plan.mesh = Mesh({{"data", 2}, {"model", 2}});
  plan.config.data = {"synthetic_lm", {{"batch_size", int64_t{4}}}};
  plan.config.seed = 3;
  plan.profile.cores = 2;
  plan.hash = 42;
  const auto add = [&](const char* name, Shape shape, DType dtype, Sharding sharding) {
    graph->values.push_back({name, {shape, dtype}, ValueKind::input, no_id, 0, no_id, {}});
    ProgramValue value;
    value.name = name;
    value.graph_value = static_cast<ValueId>(graph->values.size()) - 1;
    value.dtype = dtype;
    value.shape = shape;
    value.sharding = sharding;
    value.local_shape = local_shape(sharding, plan.mesh, shape);
    value.buffer = static_cast<int>(plan.program.buffers.size());
    Buffer buffer;
    buffer.bytes = value.bytes();
    buffer.offset = plan.program.arena_bytes;
    buffer.persistent = true;
    plan.program.arena_bytes += (buffer.bytes + 63) / 64 * 64;
    plan.program.buffers.push_back(buffer);
    plan.program.values.push_back(value);
    return static_cast<int>(plan.program.values.size()) - 1;
  };
  Sharding batch = Sharding::replicated(2), kernel = Sharding::replicated(2);
  batch.dims[0] = list({0});
  kernel.dims[1] = list({1});
  const int labels = add("labels", {4, 8}, DType::i32, batch), tokens = add("tokens", {4, 8}, DType::i32, batch);
  const int loss = add("loss", {}, DType::f32, Sharding::replicated(0));
  const int accuracy = add("accuracy", {}, DType::f32, Sharding::replicated(0));
  const int logits = add("logits", {4, 8, 16}, DType::f32, Sharding::replicated(3));
  const int w = add("w", {32, 48}, DType::f32, kernel), mu = add("mu", {32, 48}, DType::f32, kernel);
  const int whole = add("whole", {32, 48}, DType::f32, Sharding::replicated(2));
  graph->inputs = {{"labels", labels}, {"tokens", tokens}};
  graph->outputs = {{"logits", logits}};
  const std::vector<std::string> path{"params", "Dense_0", "kernel"};
  const TensorType type{{32, 48}, DType::f32};
  const OpDefinition& initialise = op_definition("initialise");
  using Kind = InitialiseAttributes::Kind;
  const InitialiseAttributes normal{Kind::truncated_normal, 0.2, key_from_seed(3), type};
  const InitialiseAttributes zeros{Kind::constant, 0, {}, type};
  ParameterPlan stored;
  stored.state = graph->add_state(initialise, normal, "params", path);
  graph->states[stored.state].trainable = true;
  graph->states[graph->add_state(initialise, zeros, "optimizer/mu", path)].follows = stored.state;
  stored.path = path;
  stored.shape = {32, 48};
  stored.sharding = kernel;
  stored.value = w;
  stored.state_names = {"mu"};
  stored.state_values = {mu};
  plan.parameters.push_back(stored);
  plan.graph = graph;
  plan.input_values = {labels, tokens};
  plan.loss_value = loss;
  plan.accuracy_value = accuracy;
  Step step;
  step.kind = StepKind::all_gather;
  step.name = "gather kernel";
  step.inputs = {w};
  step.outputs = {whole};
  step.axes = {1};
  step.split_dims = {-1};
  step.concat_dims = {1};
  plan.program.steps.push_back(step);
  return plan;
}

constexpr double gathered_wire_bytes = 32 * 48 * 4 / 2;

// What each of `ranks` ranks throws, when rank r trains the plan that `plan_of` gives it.
std::vector<Error> failures(int ranks, const std::function<Plan(int)>& plan_of) {
  auto communicators = make_thread_communicators(ranks);
  std::vector<Error> errors(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const Plan plan = plan_of(rank);
      struct alignas(64) Line {
        std::byte bytes[64];
      };
      std::vector<Line> memory(rank_memory_bytes(plan) / 64);
      try {
        train(plan, 3, *communicators[rank], {memory.data()->bytes, memory.size() * 64}, {});
      } catch (const Failure& failure) {
        errors[rank] = failure.errors().front();
      }
    });
  }
  threads.clear();
  return errors;
}

}  // namespace

class WorkerTest : public QObject {
  Q_OBJECT

 private slots:
  void parameters_and_state_start_as_the_seed_says() {
    const Plan plan = gathering_plan();
    const ThreadTraining result = train_in_threads(plan, 0);
    std::vector<float> expected(32 * 48);
    KernelArguments whole;
    whole.attributes = &plan.graph->ops[plan.graph->values[plan.graph->states[0].initial].producer].attributes;
    whole.outputs = {{expected.data(), DType::f32, {32, 48}, {32, 48}, {0, 0}}};
    kernel_factory("initialise")(whole)->run({});
    QVERIFY(result.parameters.at("params/Dense_0/kernel") == expected);
    QVERIFY(result.optimizer.at("mu/params/Dense_0/kernel") == std::vector<float>(32 * 48, 0.0f));
    QVERIFY(result.replicas_equal);
    QVERIFY(result.steps.empty());
  }

  void every_step_is_reported_with_what_every_rank_used() {
    const Plan plan = gathering_plan();
    const ThreadTraining result = train_in_threads(plan, 5);
    QCOMPARE(result.steps.size(), size_t{5});
    for (int64_t step = 0; step < 5; ++step) {
      const StepReport& report = result.steps[step];
      QCOMPARE(report.record.step, step);
      QCOMPARE(report.record.wire_bytes, gathered_wire_bytes);
      QCOMPARE(report.ranks.size(), size_t{4});
      for (const RankUse& use : report.ranks) {
        QCOMPARE(use.wire_bytes, gathered_wire_bytes);
        QCOMPARE(use.arena_bytes, plan.program.arena_bytes);
        QCOMPARE(use.parameter_bytes, int64_t{32 * 24 * 4});
        QCOMPARE(use.optimizer_bytes, int64_t{32 * 24 * 4});
      }
    }
  }

  void a_write_past_the_plans_arena_is_measured() {
    Plan plan = gathering_plan();
    const int64_t used = plan.program.arena_bytes;
    plan.program.arena_bytes -= 64;
    QCOMPARE(train_in_threads(plan, 1).ranks.at(2).arena_bytes, used);
  }

  void a_stop_ends_all_ranks_after_the_same_step() {
    for (int64_t last : {0, 3}) {
      std::stop_source stop;
      const auto stop_at_last = [&](const StepReport& report) {
        if (report.record.step == last) stop.request_stop();
      };
      const ThreadTraining result = train_in_threads(gathering_plan(), 1000, stop.get_token(), stop_at_last);
      QCOMPARE(static_cast<int64_t>(result.steps.size()), last + 2);  // the request is seen at the end of the next step
    }
  }

  void ranks_that_hold_different_plans_are_named_on_every_rank() {
    const std::vector<Error> errors = failures(4, [](int rank) {
      Plan plan = gathering_plan();
      if (rank == 2) plan.hash = 43;
      return plan;
    });
    for (const Error& error : errors) {
      QCOMPARE(error.code, std::string("plan_mismatch"));
      QVERIFY(error.message.find("ranks 0 1 3 plan 000000000000002a") != std::string::npos);
      QVERIFY(error.message.find("rank 2 plan 000000000000002b") != std::string::npos);
      QVERIFY(!error.hint.empty());
    }
  }

  void a_number_of_ranks_that_does_not_fit_the_mesh_is_an_error_on_every_rank() {
    for (int ranks : {1, 3, 6}) {
      for (const Error& error : failures(ranks, [](int) { return gathering_plan(); })) {
        QCOMPARE(error.code, std::string("world_size"));
        QCOMPARE(error.message, "mesh data 2 x model 2 needs 4 ranks, started with " + std::to_string(ranks));
      }
    }
  }

  void when_one_rank_fails_all_end_and_its_error_is_told() {
    const auto broken = [](int rank) {
      Plan plan = gathering_plan();
      if (rank == 1) plan.program.steps[0].concat_dims = {5};
      return plan;
    };
    const std::vector<Error> errors = failures(4, broken);
    QVERIFY(errors[1].where.starts_with("step 0 (gather kernel)"));
    for (int rank : {0, 2, 3}) QCOMPARE(errors[rank].code, std::string("comm_aborted"));
    Plan plan = gathering_plan();
    plan.program.steps[0].concat_dims = {5};
    try {
      train_in_threads(plan, 1);
      QFAIL("a broken plan must not train");
    } catch (const Failure& failure) {
      QVERIFY(failure.errors().front().where.starts_with("step 0 (gather kernel)"));
    }
  }
};

QTEST_APPLESS_MAIN(WorkerTest)
#include "worker_test.moc"
