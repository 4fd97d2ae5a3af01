#include "engine/comm/thread_communicator.h"

#include <QTest>
#include <algorithm>
#include <new>
#include <thread>

#include "engine/base/align.h"
#include "engine/compile/data_request.h"
#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"
#include "engine/runtime/kernels/kernel.h"
#include "tests/data/made_source.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace worker_test {

using namespace shardscope;

namespace {

AxisList list(std::initializer_list<AxisIndex> axes) {
  AxisList result;
  for (AxisIndex axis : axes) result.push_back(axis);
  return result;
}

// A plan that initialises a parameter and its state, and whose step is one all-gather of the parameter: all that a
// training loop needs, without a network.
Plan gathering_plan() {
  auto graph = std::make_shared<Graph>();
  Plan plan;
  plan.mesh = Mesh({{"data", 2}, {"model", 2}});
  plan.machine.device.cores = 2;
  plan.hash = 42;
  const auto lay = [&](ValueId id, Sharding sharding, int buffer) {
    const TensorType& type = graph->type(id);
    plan.program.values.push_back(
        {id, false, 0, type.dtype, type.shape, sharding, local_shape(sharding, plan.mesh, type.shape)});
    plan.arenas[0].buffer_of.push_back(buffer);
    return static_cast<int>(plan.program.values.size()) - 1;
  };
  const auto store = [&](ValueId id, Sharding sharding) {
    const int value = lay(id, sharding, static_cast<int>(plan.arenas[0].buffers.size()));
    Buffer buffer;
    buffer.value = value;
    buffer.bytes = plan.program.values[value].bytes();
    buffer.offset = plan.arenas[0].bytes;
    buffer.persistent = true;
    plan.arenas[0].bytes += round_up(buffer.bytes);
    plan.arenas[0].buffers.push_back(buffer);
    return value;
  };
  const auto add = [&](const char* name, Shape shape, DType dtype, Sharding sharding) {
    return store(graph->add_input(name, {std::move(shape), dtype}), sharding);
  };
  Sharding batch = Sharding::replicated(2), kernel = Sharding::replicated(2);
  batch.dims[0] = list({0});
  kernel.dims[1] = list({1});
  const int labels = add("labels", {4, 8}, DType::i32, batch), tokens = add("tokens", {4, 8}, DType::i32, batch);
  const int loss = add("loss", {}, DType::f32, Sharding::replicated(0));
  const int accuracy = add("accuracy", {}, DType::f32, Sharding::replicated(0));
  const std::vector<std::string> path{"params", "Dense_0", "kernel"};
  const TensorType type{{32, 48}, DType::f32};
  using Kind = InitialiseAttributes::Kind;
  const auto add_state = [&](const char* collection, Kind kind, double scale) {
    const InitialiseAttributes first{kind, scale, key_from_seed(3), type};
    return graph->add_state(op_definition("initialise"), first, collection, path);
  };
  ParameterPlan stored;
  stored.state = add_state("params", Kind::truncated_normal, 0.2);
  const StateId follower = add_state("optimizer/mu", Kind::constant, 0);
  graph->states[stored.state].trainable = true;
  graph->states[follower].follows = stored.state;
  const int w = store(graph->states[stored.state].before, kernel), mu = store(graph->states[follower].before, kernel);
  const int whole = store(graph->states[stored.state].before, Sharding::replicated(2));
  plan.program.values[whole].moved = true;
  graph->inputs = {{"labels", plan.program.values[labels].graph_value},
                   {"tokens", plan.program.values[tokens].graph_value}};
  graph->limits = {{"labels", 16}, {"tokens", 16}};
  stored.path = path;
  stored.shape = type.shape;
  stored.sharding = kernel;
  stored.value = w;
  stored.state_names = {"mu"};
  stored.state_values = {mu};
  plan.parameters.push_back(stored);
  plan.graph = graph;
  plan.input_values = {{labels, tokens}};
  plan.training.data = test::training_data({"synthetic_lm", {{"batch_size", int64_t{4}}}}, data_request(*graph));
  plan.metrics = {{"loss", {loss}}, {"accuracy", {accuracy}}};
  std::vector<Instruction> initial;
  for (StateId id : {stored.state, follower}) {
    const ValueId value = graph->states[id].initial;
    const int made = lay(value, kernel, plan.arenas[0].buffer_of[id == follower ? mu : w]);
    initial.push_back({Phase::initialise, graph->values[value].producer, Compute{{}, {made}}});
  }
  const CollectiveStart gather{InstructionKind::all_gather, {w}, {whole}, {{-1, 1, {}}}, list({1})};
  plan.program.groups = {gather.axes};
  const CollectiveDone done{InstructionKind::all_gather, 0, {whole}};
  plan.program.tasks = {
      {"forward", Phase::forward, {{Phase::forward, no_id, gather}, {Phase::forward, no_id, done}}, {w}, {whole}},
      {"initialise", Phase::initialise, initial, {}, {}}};
  plan.program.sequences = {make_sequence(Purpose::train_step, {{0}}, plan.program.tasks),
                            make_sequence(Purpose::initialise, {{1}}, plan.program.tasks)};
  plan.arenas[0].workspace.tasks = {{-1, -1}, {-1, -1}};
  return plan;
}

constexpr double gathered_wire_bytes = 32 * 48 * 4 / 2;
// A small call: its half is copied to where peers see it, then both halves from there.
constexpr int64_t gathered_moved_bytes = 3 * 32 * 24 * 4;

struct alignas(line_bytes) Line {
  std::byte bytes[line_bytes];
};

std::vector<Line> memory_for(const Plan& plan) { return std::vector<Line>(rank_memory_bytes(plan) / line_bytes); }
std::span<std::byte> span_of(std::vector<Line>& memory) { return {memory.data()->bytes, memory.size() * line_bytes}; }

// What each of `ranks` ranks throws, when rank r trains the plan that `plan_of` gives it.
std::vector<Error> failures(int ranks, const std::function<Plan(int)>& plan_of) {
  auto communicators = make_thread_communicators(ranks);
  std::vector<Error> errors(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const Plan plan = plan_of(rank);
      std::vector<Line> memory = memory_for(plan);
      try {
        train(plan, 3, *communicators[rank], span_of(memory), {});
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
    make_kernel("initialise", whole)->run({});
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
      const StepMessage& report = result.steps[step];
      QCOMPARE(report.step, step);
      QCOMPARE(report.ranks.size(), size_t{4});
      for (int64_t rank = 0; rank < 4; ++rank) {
        const RankMeasurement& use = report.ranks[rank];
        QCOMPARE(use.rank, rank);
        QCOMPARE(use.wire_bytes, gathered_wire_bytes);
        QCOMPARE(use.moved_bytes, gathered_moved_bytes);
        QCOMPARE(use.arena_bytes, plan.arenas[0].bytes);
        QCOMPARE(use.parameter_bytes, int64_t{32 * 24 * 4});
        QCOMPARE(use.optimizer_bytes, int64_t{32 * 24 * 4});
      }
    }
  }

  void every_step_finds_its_own_inputs_in_the_arena() {
    Plan plan = gathering_plan();
    Graph graph = *plan.graph;
    for (const auto& [name, value] : graph.inputs) graph.values[value].type.dtype = DType::f32;
    for (int value : plan.input_values[0]) plan.program.values[value].dtype = DType::f32;
    plan.graph = std::make_shared<Graph>(graph);
    const NamedOptions normal{"normal", {{"batch_size", int64_t{4}}, {"seed", int64_t{6}}}};
    plan.training.data = test::training_data(normal, data_request(graph));
    const auto source = make_data_source(plan.training.data);

    for (int64_t steps : {1, 2, 5}) {
      auto communicators = make_thread_communicators(4);
      std::vector<std::vector<Line>> memory(4, memory_for(plan));
      {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < 4; ++rank) {
          threads.emplace_back([&, rank] { train(plan, steps, *communicators[rank], span_of(memory[rank]), {}); });
        }
      }
      for (int rank = 0; rank < 4; ++rank) {
        for (int id : plan.input_values[0]) {
          const ProgramValue& value = plan.program.values[id];
          std::vector<std::byte> expected(value.bytes());
          const Box box = shard_box(value.sharding, plan.mesh, value.shape, rank);
          source->fill(graph.values[value.graph_value].name, box, steps - 1, expected);
          const std::byte* held = memory[rank].data()->bytes + plan.buffer(id).offset;
          QVERIFY(std::equal(expected.begin(), expected.end(), held));
        }
      }
    }
  }

  // What is stored is measured where it is, and known to no plan.
  void stored_bytes_are_those_that_were_written_whatever_was_planned() {
    Plan plan = gathering_plan();
    plan.program.tasks[1].instructions.pop_back();  // the follower is never made
    plan.program.sequences[1] = make_sequence(Purpose::initialise, {{1}}, plan.program.tasks);
    plan.arenas[0].workspace.tasks[1].pop_back();
    const ThreadTraining result = train_in_threads(plan, 1);
    for (const RankMeasurement& use : result.ranks) {
      QCOMPARE(use.parameter_bytes, int64_t{32 * 24 * 4});
      QCOMPARE(use.optimizer_bytes, int64_t{0});
    }
  }

  void a_write_past_the_plans_arena_is_measured() {
    Plan plan = gathering_plan();
    const int64_t used = plan.arenas[0].bytes;
    plan.arenas[0].bytes -= 64;
    QCOMPARE(train_in_threads(plan, 1).ranks.at(2).arena_bytes, used);
  }

  void a_stop_ends_all_ranks_after_the_same_step() {
    for (int64_t last : {0, 3}) {
      std::stop_source stop;
      const auto stop_at_last = [&](const StepMessage& report) {
        if (report.step == last) stop.request_stop();
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

  void ranks_that_run_different_code_are_named_on_every_rank() {
    auto communicators = make_thread_communicators(3);
    std::vector<std::string> said(3);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          check_code(rank == 1 ? "program 0b" : "program 0a", *communicators[rank]);
        } catch (const Failure& failure) {
          said[rank] = failure.errors().front().code + " " + failure.what();
        }
      });
    }
    threads.clear();
    for (int rank = 0; rank < 3; ++rank) {
      const std::string& text = said[rank];
      QVERIFY2(text.starts_with("code_mismatch rank " + std::to_string(rank)), text.c_str());
      QVERIFY2(text.find("ranks 0 2 code ") != std::string::npos && text.find("rank 1 code ") != std::string::npos,
               text.c_str());
      QVERIFY2(text.ends_with(rank == 1 ? "program 0b)" : "program 0a)"), text.c_str());
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

  void when_one_rank_fails_all_end_and_its_error_is_reported() {
    const auto broken = [](int rank) {
      Plan plan = gathering_plan();
      if (rank == 1) plan.program.tasks[0].instructions[0].as<CollectiveStart>()->moved[0].concat_dim = 5;
      return plan;
    };
    const std::vector<Error> errors = failures(4, broken);
    QVERIFY(to_string(errors[1].place).starts_with("step 0 (all-gather over model of params/Dense_0/kernel)"));
    for (int rank : {0, 2, 3}) QCOMPARE(errors[rank].code, std::string("comm_aborted"));
    Plan plan = gathering_plan();
    plan.program.tasks[0].instructions[0].as<CollectiveStart>()->moved[0].concat_dim = 5;
    try {
      train_in_threads(plan, 1);
      QFAIL("a broken plan must not train");
    } catch (const Failure& failure) {
      QVERIFY(to_string(failure.errors().front().place)
                  .starts_with("step 0 (all-gather over model of params/Dense_0/kernel)"));
    }
  }
};

REGISTER_TEST(WorkerTest)

}  // namespace worker_test

#include "worker_test.moc"
