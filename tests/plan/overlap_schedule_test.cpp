#include "engine/plan/overlap_schedule.h"

#include <QTest>
#include <algorithm>

#include "engine/graph/op_definition.h"
#include "engine/ops/registry.h"
#include "engine/simulate/simulation.h"
#include "tests/program/random_program.h"
#include "tests/test_program.h"

namespace overlap_schedule_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

Streams streams_of(bool inside_may_overlap) {
  Streams streams;
  streams.names = {"compute", "inside", "across"};
  streams.of_group = {1, 2};
  streams.joined.assign(3, std::vector<std::optional<Streams::Slowdown>>(3));
  streams.joined[0][2] = streams.joined[2][0] = Streams::Slowdown{1, 1};
  if (inside_may_overlap) streams.joined[0][1] = streams.joined[1][0] = Streams::Slowdown{1, 1};
  return streams;
}

double seconds_of(const RandomProgram& one, const Streams& streams) {
  return simulate(one.program, one.graph, one.mesh, Purpose::train_step, one.seconds, streams).seconds;
}

int new_value(RandomProgram& one) {
  one.program.values.emplace_back().moved = true;
  return static_cast<int>(one.program.values.size()) - 1;
}

// One task, with a group that the streams above may overlap, and so many values; nothing in it yet.
RandomProgram empty_program(int values) {
  RandomProgram one;
  one.program.groups.resize(2);
  one.program.groups[0].push_back(0);
  one.program.groups[1].push_back(1);
  one.program.tasks.push_back({"forward", Phase::forward, {}, {}, {}});
  one.seconds.tasks.emplace_back();
  one.program.values.resize(static_cast<size_t>(values));
  for (ProgramValue& value : one.program.values) value.moved = true;
  return one;
}

void gather(RandomProgram& one, int from, int to, double seconds, size_t group = 1) {
  CollectiveStart start;
  start.operands = {from};
  start.destinations = {to};
  start.axes = one.program.groups[group];
  const CollectiveDone done{start.kind, one.task().size(), {to}};
  one.task().instructions.push_back({Phase::forward, no_id, start});
  one.task().instructions.push_back({Phase::forward, no_id, done});
  one.seconds.tasks[0].insert(one.seconds.tasks[0].end(), {seconds, 0});
}

void compute(RandomProgram& one, Compute work, double seconds) {
  one.task().instructions.push_back({Phase::forward, no_id, std::move(work)});
  one.seconds.tasks[0].push_back(seconds);
}

RandomProgram finished(RandomProgram one) {
  one.program.sequences = {make_sequence(Purpose::train_step, {{0}}, one.program.tasks)};
  return one;
}

// Layers that need a gathered weight each, and what the layer before gives; the first what `first` is.
void add_layers(RandomProgram& one, int count, int first, double gathering, double computing) {
  int before = first;
  for (int layer = 0; layer < count; ++layer) {
    const int shard = new_value(one), weight = new_value(one), result = new_value(one);
    one.task().inputs.push_back(shard);
    gather(one, shard, weight, gathering);
    Compute work{{weight}, {result}};
    if (before >= 0) work.operands.push_back(before);
    compute(one, std::move(work), computing);
    before = result;
  }
}
RandomProgram layers(int count, double gathering = 1, double computing = 2) {
  RandomProgram one = empty_program(0);
  add_layers(one, count, -1, gathering, computing);
  return finished(std::move(one));
}

// What a first compute gives is exchanged before the layers begin.
RandomProgram layers_behind_an_exchange(int count) {
  RandomProgram one = empty_program(3);
  one.task().inputs = {0};
  compute(one, {{0, 0}, {1}}, 1);
  gather(one, 1, 2, 1);
  add_layers(one, count, 2, 3, 1);
  return finished(std::move(one));
}

// Gradients of layers: 2 s each, reduced in 1 s, in half a second by another group too, and added up in half a second.
RandomProgram gradients(int count, bool by_two_groups) {
  RandomProgram one = empty_program(0);
  one.graph.ops.emplace_back().definition = &op_definition("accumulate");
  for (int layer = 0; layer < count; ++layer) {
    int made = new_value(one);
    compute(one, {{}, {made}}, 2);
    for (int group = 1; group >= (by_two_groups ? 0 : 1); --group) {
      const int reduced = new_value(one);
      gather(one, made, reduced, group == 1 ? 1 : 0.5, static_cast<size_t>(group));
      made = reduced;
    }
    compute(one, {{made}, {new_value(one)}}, 0.5);
    one.task().instructions.back().op = 0;
  }
  return finished(std::move(one));
}

std::vector<int> places(const RandomProgram& one, const IssueOrder& order) {
  std::vector<int> place(static_cast<size_t>(one.task().size()));
  for (int at = 0; at < one.task().size(); ++at) place[static_cast<size_t>(order.index(at))] = at;
  return place;
}

int most_open(const RandomProgram& one) {
  int open = 0, most = 0;
  for (int place = 0; place < one.task().size(); ++place) {
    const Instruction& instruction = one.task().issued(place);
    if (instruction.as<CollectiveStart>()) most = std::max(most, ++open);
    if (instruction.as<CollectiveDone>()) --open;
  }
  return most;
}

// Compute, gather what no one needs, then gather twice, in no time and in a second, what it gave, for another compute.
RandomProgram chain() {
  RandomProgram one = empty_program(6);
  one.task().inputs = {0};
  compute(one, {{0, 0}, {1}}, 1);
  gather(one, 0, 5, 1);
  gather(one, 1, 2, 0);
  gather(one, 2, 3, 1);
  compute(one, {{3, 3}, {4}}, 2);
  return finished(std::move(one));
}

// Keys and values on their way round: 1 s each, from the ones before, then 5 s of computing with the ones before.
RandomProgram ring(int blocks) {
  RandomProgram one = empty_program(3 * blocks);
  one.task().inputs = {0, 1};
  for (int block = 0; block < blocks; ++block) {
    const int key = 3 * block, value = key + 1, result = key + 2;
    if (block + 1 < blocks) {
      gather(one, key, key + 3, 1);
      gather(one, value, value + 3, 1);
    }
    compute(one, {{key, value}, {result}}, 5);
  }
  return finished(std::move(one));
}

}  // namespace

class OverlapScheduleTest : public QObject {
  Q_OBJECT

 private slots:
  void weights_are_gathered_a_layer_ahead() {
    RandomProgram one = layers(4);
    const Streams streams = streams_of(false);
    QCOMPARE(seconds_of(one, streams), 12.0);
    one.task().order = overlapped_orders(one.program, one.graph, one.seconds, streams, 1)[0];
    QCOMPARE(seconds_of(one, streams), 9.0);
    // The first two starts, the first done, then by layer its compute, the next one's done, and the start after that.
    std::vector<int> order;
    for (int place = 0; place < one.task().size(); ++place) order.push_back(one.task().order.index(place));
    QVERIFY((order == std::vector<int>{0, 3, 1, 2, 4, 6, 5, 7, 9, 8, 10, 11}));
  }

  // Two transfers begin behind one block, as far ahead as is wanted of them; none is waited for.
  void what_goes_round_a_ring_is_hidden_behind_its_blocks() {
    RandomProgram one = ring(8);
    const Streams streams = streams_of(false);
    QCOMPARE(seconds_of(one, streams), 8 * 5.0 + 14);
    for (double lookahead : {0.5, 1.0, 2.0}) {
      one.task().order = overlapped_orders(one.program, one.graph, one.seconds, streams, lookahead)[0];
      QVERIFY2(seconds_of(one, streams) == 8 * 5.0, std::to_string(lookahead).c_str());
    }
  }

  void a_start_comes_before_all_that_was_moved_ahead_and_needs_it() {
    RandomProgram one = chain();
    const IssueOrder order = overlapped_orders(one.program, one.graph, one.seconds, streams_of(true), 1)[0];
    const std::vector<int> place = places(one, order);
    const std::vector<int> needed = {place[0], place[3], place[4], place[5], place[6], place[7]};
    QVERIFY(std::ranges::is_sorted(needed));
  }

  // A link that is never idle, and no room for what would wait behind others on it.
  void no_more_is_started_than_keeps_a_slow_link_busy() {
    RandomProgram one = layers(12, 3, 1);
    const Streams streams = streams_of(false);
    for (double lookahead : {0.5, 1.0, 2.0}) {
      one.task().order = overlapped_orders(one.program, one.graph, one.seconds, streams, lookahead)[0];
      QCOMPARE(seconds_of(one, streams), 12 * 3.0 + 1);
      QVERIFY2(most_open(one) <= 2 + lookahead, std::to_string(most_open(one)).c_str());
    }
  }

  // Between the end of a transfer and the next start a link would be idle.
  void the_next_start_comes_before_a_done_that_is_waited_for() {
    RandomProgram one = layers(12, 3, 1);
    const IssueOrder order = overlapped_orders(one.program, one.graph, one.seconds, streams_of(false), 1)[0];
    const std::vector<int> place = places(one, order);
    for (size_t layer = 0; layer + 1 < 12; ++layer) QVERIFY(place[3 * (layer + 1)] < place[3 * layer + 1]);
  }

  // Over a link that is behind for long, and that is not where ranks share cores and computing takes longer.
  void what_gets_smaller_is_started_as_soon_as_it_is_made() {
    RandomProgram one = empty_program(0);
    constexpr size_t layers = 12;
    for (size_t layer = 0; layer < layers; ++layer) {
      const int made = new_value(one), reduced = new_value(one);
      one.program.values[static_cast<size_t>(made)].local_shape = {8};
      one.program.values[static_cast<size_t>(reduced)].local_shape = {1};
      compute(one, {{}, {made}}, 1);
      gather(one, made, reduced, 3);
    }
    one = finished(std::move(one));
    Streams streams = streams_of(false);
    streams.shares_cores = true;
    const std::vector<int> place = places(one, overlapped_orders(one.program, one.graph, one.seconds, streams, 1)[0]);
    for (size_t layer = 0; layer < layers; ++layer) QCOMPARE(place[3 * layer + 1], place[3 * layer] + 1);
  }

  void what_is_needed_first_is_started_first() {
    RandomProgram one = layers_behind_an_exchange(12);
    const Streams streams = streams_of(false);
    const IssueOrder order = overlapped_orders(one.program, one.graph, one.seconds, streams, 1)[0];
    constexpr int exchange = 1, third_gather = 9;
    const std::vector<int> place = places(one, order);
    QVERIFY(place[exchange] < place[third_gather]);
    one.task().order = order;
    QCOMPARE(seconds_of(one, streams), 12 * 3.0 + 1 + 1);
  }

  void adding_up_reduced_gradients_holds_up_nothing() {
    for (int count : {3, 7}) {
      for (bool by_two_groups : {false, true}) {
        RandomProgram one = gradients(count, by_two_groups);
        const Streams streams = streams_of(true);
        QCOMPARE(seconds_of(one, streams), count * (by_two_groups ? 4 : 3.5));
        one.task().order = overlapped_orders(one.program, one.graph, one.seconds, streams, 1)[0];
        // The two groups take turns.
        QVERIFY(seconds_of(one, streams) <= count * 2.5 + (by_two_groups ? 1 : 0.5));
        QVERIFY(most_open(one) <= 3);
      }
    }
  }

  void every_order_is_sound_and_what_may_not_overlap_keeps_its_place() {
    RandomPrograms programs(1);
    int moved = 0;
    for (int round = 0; round < 400; ++round) {
      RandomProgram one = programs.next();
      for (bool inside : {false, true}) {
        for (double lookahead : {0.0, 0.5, 2.0}) {
          one.task().order = overlapped_orders(one.program, one.graph, one.seconds, streams_of(inside), lookahead)[0];
          verify(one.program, one.graph, one.mesh);
          moved += !one.task().order.is_as_listed();
          int last = -1;
          for (int place = 0; place < one.task().size(); ++place) {
            const int index = one.task().order.index(place);
            const Instruction& instruction = one.task().issued(place);
            if (instruction.as<Compute>() && instruction.operands().size() != 1) {
              QVERIFY(index > last);
              last = index;
            }
            const bool blocks = !inside && is_collective(instruction.kind()) && instruction.axes().contains(0);
            if (blocks) QCOMPARE(one.task().order.index(place + 1), index + 1);
          }
        }
      }
    }
    QVERIFY(moved > 400);
  }

  void orders_gain_time_in_most_programs_and_nothing_moves_where_nothing_may_overlap() {
    RandomPrograms programs(2);
    int gains = 0, losses = 0;
    for (int round = 0; round < 300; ++round) {
      RandomProgram one = programs.next();
      QVERIFY(overlapped_orders(one.program, one.graph, one.seconds, Streams(), 1)[0].is_as_listed());
      const Streams streams = streams_of(true);
      const double listed = seconds_of(one, streams);
      one.task().order = overlapped_orders(one.program, one.graph, one.seconds, streams, 1)[0];
      const double overlapped = seconds_of(one, streams);
      gains += overlapped < listed - 1e-9;
      losses += overlapped > listed + 1e-9;
    }
    QVERIFY(gains > 100);
    QCOMPARE(losses, 0);
  }
};

REGISTER_TEST(OverlapScheduleTest)

}  // namespace overlap_schedule_test

#include "overlap_schedule_test.moc"
