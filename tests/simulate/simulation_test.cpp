#include "engine/simulate/simulation.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "engine/program/dependencies.h"
#include "tests/program/made_instruction.h"
#include "tests/program/random_order.h"
#include "tests/program/random_program.h"
#include "tests/test_program.h"

namespace simulation_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int rounds = 300;

// Both groups have a stream of their own.
Streams two_levels(bool may_overlap, double slowdown = 1) {
  Streams streams;
  streams.names = {"compute", "inside", "across"};
  streams.of_group = {1, 2};
  streams.joined.assign(3, std::vector<std::optional<Streams::Slowdown>>(3));
  for (size_t a = 0; a < 3 && may_overlap; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      if (a != b) streams.joined[a][b] = Streams::Slowdown{slowdown, slowdown};
    }
  }
  return streams;
}

RandomProgram reordered(RandomPrograms& programs) {
  RandomProgram one = programs.next();
  std::mt19937 random(static_cast<unsigned>(programs.below(1 << 20)));
  one.task().order = random_order(one.program, one.graph, 0, random);
  return one;
}

Simulation simulated(const RandomProgram& one, const Streams& streams) {
  return simulate(one.program, one.graph, one.mesh, Purpose::train_step, one.seconds, streams);
}

double sum(const RandomProgram& one, bool with_collectives) {
  double seconds = 0;
  for (int i = 0; i < one.task().size(); ++i) {
    if (with_collectives || !is_collective(one.task().instructions[static_cast<size_t>(i)].kind()))
      seconds += one.seconds.tasks[0][static_cast<size_t>(i)];
  }
  return seconds;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

// A stage's work of one microbatch, forward and backward, in the order 1F1B, and its messages to neighbours.
struct Chain {
  Program program;
  Graph graph;
  Mesh mesh{{{"stage", 1}}};
  InstructionTable<double> seconds;

  double message = 0;  // s of each send

  Chain(int stages, int microbatches, double forward, double backward, double message_seconds = 0)
      : message(message_seconds) {
    program.stages = stages;
    for (int stage = 0; stage + 1 < stages; ++stage) {
      program.channels.push_back({stage, stage + 1, 0, stages});
      program.channels.push_back({stage + 1, stage, 0, stages});
    }
    for (int stage = 0; stage < stages; ++stage) {
      const int down = 2 * stage, up = 2 * (stage - 1);
      add_task(stage, stage > 0 ? up : -1, forward, stage + 1 < stages ? down : -1);
      add_task(stage, stage + 1 < stages ? down + 1 : -1, backward, stage > 0 ? up + 1 : -1);
      std::vector<TaskRun> runs;
      const int ahead = std::min(microbatches, stages - 1 - stage);
      for (int i = 0; i < ahead; ++i) runs.push_back({2 * stage, i});
      for (int i = 0; i < microbatches; ++i) {
        if (ahead + i < microbatches) runs.push_back({2 * stage, ahead + i});
        runs.push_back({2 * stage + 1, i});
      }
      program.sequences.push_back(make_sequence(Purpose::train_step, std::move(runs), program.tasks, stage));
    }
  }

  double run(bool blocking) const {
    Streams streams;
    streams.blocking_messages = blocking;
    return simulate(program, graph, mesh, Purpose::train_step, seconds, streams).seconds;
  }

 private:
  void add_task(int stage, int from, double took, int to) {
    Task task{"task", Phase::forward, {}, {}, {}, stage};
    std::vector<double>& row = seconds.tasks.emplace_back();
    const auto add = [&](Instruction instruction, double of_one) {
      task.instructions.push_back(std::move(instruction));
      row.push_back(of_one);
    };
    if (from >= 0) add(instruction_of(InstructionKind::receive, {}, from), 0);
    add({Phase::forward, no_id, Compute{}}, took);
    if (to >= 0) add(instruction_of(InstructionKind::send, {}, to), message);
    program.tasks.push_back(std::move(task));
  }
};

}  // namespace

class SimulationTest : public QObject {
  Q_OBJECT

 private slots:
  void streams_that_are_not_joined_take_the_sum_of_their_parts_in_any_order() {
    RandomPrograms programs(1);
    for (int round = 0; round < rounds; ++round) {
      const RandomProgram one = reordered(programs);
      for (const Streams& streams : {Streams(), two_levels(false)}) {
        const Simulation simulation = simulated(one, streams);
        QVERIFY(near(simulation.seconds, sum(one, true)));
        QVERIFY(near(simulation.communication[0].exposed, sum(one, true) - sum(one, false)));
        QCOMPARE(simulation.communication[0].hidden, 0.0);
        QVERIFY(near(simulation.bubble, 0));
      }
    }
  }

  void with_infinitely_fast_links_a_program_takes_its_compute_time() {
    RandomPrograms programs(2);
    for (int round = 0; round < rounds; ++round) {
      RandomProgram one = reordered(programs);
      for (int i = 0; i < one.task().size(); ++i) {
        if (is_collective(one.task().instructions[static_cast<size_t>(i)].kind()))
          one.seconds.tasks[0][static_cast<size_t>(i)] = 0;
      }
      for (bool may_overlap : {false, true})
        QVERIFY(near(simulated(one, two_levels(may_overlap, 1.5)).seconds, sum(one, false)));
    }
  }

  void no_send_waits_for_room_that_was_made() {
    std::mt19937 random(4);
    const auto seconds = [&] { return std::ldexp(1.0, static_cast<int>(random() % 6)); };
    int larger = 0;
    for (int round = 0; round < rounds; ++round) {
      const int stages = 2 + static_cast<int>(random() % 4), microbatches = 1 + static_cast<int>(random() % 8);
      Chain chain(stages, microbatches, seconds(), seconds(), random() % 2 ? seconds() : 0);
      for (std::vector<double>& task : chain.seconds.tasks) {
        for (double& each : task) each *= 1 + static_cast<double>(random() % 3);
      }
      for (bool blocking : {false, true}) {
        Streams streams;
        streams.blocking_messages = blocking;
        const Simulation made = simulate_with_room(chain.program, chain.graph, chain.mesh, Purpose::train_step,
                                                   chain.seconds, streams, false);
        const Simulation again =
            simulate(chain.program, chain.graph, chain.mesh, Purpose::train_step, chain.seconds, streams);
        QCOMPARE(made.seconds, again.seconds);
        QCOMPARE(made.bubble, again.bubble);
        for (size_t stage = 0; stage < made.stages.size(); ++stage) {
          const auto &one = made.stages[stage], &other = again.stages[stage];
          QVERIFY(std::ranges::equal(
              one, other, [](const auto& a, const auto& b) { return a.start == b.start && a.end == b.end; }));
        }
      }
      for (const StageChannel& channel : chain.program.channels) larger += channel.capacity > 1;
    }
    QVERIFY2(larger > 20, std::to_string(larger).c_str());
  }

  // Neighbours meet where one has gone forward and the other backward: where messages take no time, none waits then.
  void blocking_messages_take_both_their_stages_and_are_free_where_they_take_no_time() {
    std::mt19937 random(7);
    double cost = 0;
    for (int round = 0; round < 100; ++round) {
      const auto some = [&] { return static_cast<double>(1 + random() % 3); };
      const int stages = 1 + static_cast<int>(random() % 6), microbatches = 1 + static_cast<int>(random() % 20);
      Chain chain(stages, microbatches, some(), some());
      QVERIFY(near(chain.run(true), chain.run(false)));
      for (size_t t = 0; t < chain.program.tasks.size(); ++t) {
        for (size_t i = 0; i < chain.seconds.tasks[t].size(); ++i) {
          const bool sends = chain.program.tasks[t].instructions[i].as<Send>();
          chain.seconds.tasks[t][i] = sends ? 0 : some();
        }
      }
      const double more = chain.run(true) - chain.run(false);
      QVERIFY(more >= -1e-9);
      cost += more;
    }
    QVERIFY(cost > 1);
  }

  void blocking_messages_that_would_never_be_taken_are_let_go() {
    Chain chain(2, 1, 1, 2);
    Program& program = chain.program;
    // Both send before they take anything, and then work.
    for (int stage : {0, 1}) {
      program.tasks[static_cast<size_t>(2 * stage)].instructions = {
          instruction_of(InstructionKind::send, {}, stage),
          {Phase::forward, no_id, Compute{}},
          instruction_of(InstructionKind::receive, {}, 1 - stage)};
      chain.seconds.tasks[static_cast<size_t>(2 * stage)] = {0, 1, 0};
      program.sequences[static_cast<size_t>(stage)] =
          make_sequence(Purpose::train_step, {{2 * stage, 0}}, program.tasks, stage);
    }
    QVERIFY(near(chain.run(true), 1));
    QVERIFY(near(chain.run(false), 1));
  }

  void nothing_starts_before_what_it_depends_on_has_ended() {
    RandomPrograms programs(3);
    for (int round = 0; round < rounds; ++round) {
      const RandomProgram one = reordered(programs);
      const Simulation simulation = simulated(one, two_levels(round % 2, 1 + round % 3));
      std::vector<TimeSpan> transfer(one.task().instructions.size());
      for (const TransferSpan& span : simulation.transfers[0])
        transfer[static_cast<size_t>(one.task().order.index(span.position))] = span.span;
      // Of a start that of its transfer.
      const auto span_of = [&](int index) {
        return is_collective(one.task().instructions[static_cast<size_t>(index)].kind())
                   ? transfer[static_cast<size_t>(index)]
                   : simulation.stages[0][static_cast<size_t>(one.task().order.place(index))];
      };
      for (const Dependency& dependency : Dependencies(one.program, one.graph).of(0)) {
        const bool is_done = one.task().instructions[static_cast<size_t>(dependency.behind)].as<CollectiveDone>();
        const TimeSpan behind = span_of(dependency.behind);
        QVERIFY((is_done ? behind.end : behind.start) >= span_of(dependency.before).end - 1e-12);
      }
    }
  }

  void a_stream_does_one_thing_at_a_time_and_without_slowing_down_overlap_never_takes_longer() {
    RandomPrograms programs(4);
    double gained = 0;
    for (int round = 0; round < rounds; ++round) {
      const RandomProgram one = reordered(programs);
      const Simulation simulation = simulated(one, two_levels(true));
      double end = 0;
      for (const TimeSpan& span : simulation.stages[0]) {
        QVERIFY(span.start >= end - 1e-12 && span.end >= span.start);
        end = span.end;
      }
      std::vector<double> free(3);
      for (const TransferSpan& transfer : simulation.transfers[0]) {
        QVERIFY(transfer.span.start >= free[static_cast<size_t>(transfer.stream)] - 1e-12);
        free[static_cast<size_t>(transfer.stream)] = transfer.span.end;
      }
      QVERIFY(simulation.seconds <= sum(one, true) + 1e-9 && simulation.seconds >= sum(one, false) - 1e-9);
      QVERIFY(near(simulation.seconds, sum(one, false) + simulation.communication[0].exposed));
      gained += sum(one, true) - simulation.seconds;
    }
    QVERIFY(gained > 1);
  }
};

REGISTER_TEST(SimulationTest)

}  // namespace simulation_test

#include "simulation_test.moc"
