#include "engine/program/dependencies.h"

#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/program/random_order.h"
#include "tests/program/random_program.h"
#include "tests/test_program.h"

namespace dependencies_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::vector<std::pair<int, int>> pairs_of(const RandomProgram& one) {
  std::vector<std::pair<int, int>> pairs;
  for (const Dependency& dependency : Dependencies(one.program, one.graph).of(0))
    pairs.emplace_back(dependency.before, dependency.behind);
  return pairs;
}

bool is_sound(const RandomProgram& one) {
  try {
    verify(one.program, one.graph, one.mesh);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace

class DependenciesTest : public QObject {
  Q_OBJECT

 private slots:
  void an_instruction_depends_on_the_makers_of_its_operands_and_a_done_on_its_start() {
    RandomPrograms programs(1);
    for (int round = 0; round < 200; ++round) {
      const RandomProgram one = programs.next();
      const auto pairs = pairs_of(one);
      for (int i = 0; i < one.task().size(); ++i) {
        const Instruction& instruction = one.task().instructions[static_cast<size_t>(i)];
        if (const CollectiveDone* done = instruction.as<CollectiveDone>())
          QVERIFY(std::ranges::count(pairs, std::pair(done->start, i)) == 1);
        for (int operand : instruction.operands()) {
          const auto maker = std::ranges::find_if(one.task().instructions, [&](const Instruction& earlier) {
            return std::ranges::count(earlier.results(), operand) > 0;
          });
          const auto index = static_cast<int>(maker - one.task().instructions.begin());
          QVERIFY(std::ranges::count(pairs, std::pair(index, i)) > 0);
        }
      }
    }
  }

  void every_order_that_respects_dependencies_is_sound_and_no_other() {
    RandomPrograms programs(2);
    std::mt19937 random(2);
    int refused = 0, kept = 0;
    for (int round = 0; round < 300; ++round) {
      RandomProgram one = programs.next();
      const auto pairs = pairs_of(one);
      QVERIFY(is_sound(one));
      one.task().order = random_order(one.program, one.graph, 0, random);
      QVERIFY(is_sound(one));
      std::vector<int> any(one.task().instructions.size());
      std::iota(any.begin(), any.end(), 0);
      std::shuffle(any.begin(), any.end(), random);
      one.task().order = IssueOrder(any);
      const bool respected = std::ranges::all_of(pairs, [&](const auto& pair) {
        return one.task().order.place(pair.first) < one.task().order.place(pair.second);
      });
      if (!respected) QVERIFY(!is_sound(one));
      ++(respected ? kept : refused);
    }
    QVERIFY(refused > 100 && kept > 0);
  }

  void collectives_of_a_group_are_done_in_the_order_of_their_starts_and_few_are_open() {
    RandomProgram one;
    one.program.groups.resize(1);
    one.program.groups[0].push_back(0);
    one.program.tasks.push_back({"forward", Phase::forward, {}, {}, {}});
    constexpr int count = 17;
    for (int i = 0; i < count; ++i) {
      one.program.values.emplace_back().moved = true;
      CollectiveStart start;
      start.destinations = {i};
      start.axes = one.program.groups[0];
      one.task().instructions.push_back({Phase::forward, no_id, start});
      one.task().instructions.push_back({Phase::forward, no_id, CollectiveDone{start.kind, 2 * i, {i}}});
    }
    one.program.sequences = {make_sequence(Purpose::train_step, {{0}}, one.program.tasks)};
    QVERIFY(is_sound(one));
    // So many starts, then their dones, then the rest one after the other.
    const auto with_open = [&](int open, bool reversed) {
      std::vector<int> order;
      for (int i = 0; i < open; ++i) order.push_back(2 * i);
      for (int i = 0; i < open; ++i) order.push_back(2 * (reversed ? open - 1 - i : i) + 1);
      for (int i = open; i < count; ++i) order.insert(order.end(), {2 * i, 2 * i + 1});
      one.task().order = IssueOrder(order);
      return is_sound(one);
    };
    QVERIFY(with_open(16, false));
    QVERIFY(!with_open(17, false));
    QVERIFY(!with_open(2, true));
  }

  void a_start_without_done_and_a_done_without_start_are_found() {
    RandomPrograms programs(3);
    int tried = 0;
    while (tried < 20) {
      RandomProgram one = programs.next();
      std::vector<Instruction>& all = one.task().instructions;
      const auto start = std::ranges::find_if(all, [](const Instruction& it) { return is_collective(it.kind()); });
      if (start == all.end()) continue;
      ++tried;
      RandomProgram other = one;
      other.task().instructions[static_cast<size_t>(start - all.begin()) + 1].as<CollectiveDone>()->start = -1;
      QVERIFY(!is_sound(other));
      other = one;
      other.task().instructions[static_cast<size_t>(start - all.begin()) + 1].as<CollectiveDone>()->results.clear();
      QVERIFY(!is_sound(other));
      other = one;
      other.task().instructions[static_cast<size_t>(start - all.begin()) + 1].body =
          Compute{{}, start->as<CollectiveStart>()->destinations};
      QVERIFY(!is_sound(other));
    }
  }
};

REGISTER_TEST(DependenciesTest)

}  // namespace dependencies_test

#include "dependencies_test.moc"
