#include "engine/program/sequence.h"

#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/test_program.h"

namespace sequence_test {

using namespace shardscope;

namespace {

struct Case {
  std::vector<Task> tasks;
  Sequence sequence;
};

// Tasks of 0 to 5 steps, issued in some order, run in any order and for several microbatches.
Case random_case(std::mt19937& random) {
  Case one;
  one.tasks.resize(1 + random() % 4);
  for (size_t t = 0; t < one.tasks.size(); ++t) {
    one.tasks[t].instructions.resize(random() % 6);
    for (size_t s = 0; s < one.tasks[t].instructions.size(); ++s)
      one.tasks[t].instructions[s].op = static_cast<OpId>(100 * t + s);
    std::vector<int> order(one.tasks[t].instructions.size());
    std::iota(order.begin(), order.end(), 0);
    if (random() % 2) std::shuffle(order.begin(), order.end(), random);
    one.tasks[t].order = IssueOrder(std::move(order));
  }
  std::vector<TaskRun> runs;
  const int microbatches = 1 + static_cast<int>(random() % 3);
  for (int m = 0; m < microbatches; ++m) {
    for (size_t t = 0; t < one.tasks.size(); ++t) runs.push_back({static_cast<int>(t), m});
  }
  std::shuffle(runs.begin(), runs.end(), random);
  one.sequence = make_sequence(Purpose::train_step, runs, one.tasks);
  return one;
}

}  // namespace

class SequenceTest : public QObject {
  Q_OBJECT

 private slots:
  void every_step_of_every_run_has_one_position_in_order() {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
      const Case one = random_case(random);
      const SequenceInstructions steps(one.tasks, one.sequence);
      int position = 0;
      for (const TaskRun& run : one.sequence.runs) {
        for (int place = 0; place < one.tasks[run.task].size(); ++place, ++position) {
          const int s = one.tasks[run.task].order.index(place);
          const InstructionId id{run.task, s};
          QVERIFY(steps.id(position) == id);
          QCOMPARE(position_of(one.tasks, one.sequence, id, run.microbatch), std::optional<int>(position));
          QCOMPARE(steps[position].op, static_cast<OpId>(100 * run.task + s));
          QCOMPARE(&steps.task(position), &one.tasks[run.task]);
        }
      }
      QCOMPARE(steps.size(), position);
    }
  }

  void a_walk_over_the_steps_meets_them_by_position() {
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
      const Case one = random_case(random);
      const SequenceInstructions steps(one.tasks, one.sequence);
      int position = 0;
      for (const Instruction& instruction : steps) QCOMPARE(&instruction, &steps[position++]);
      QCOMPARE(position, steps.size());
    }
  }

  void a_task_that_does_not_run_has_no_position() {
    std::mt19937 random(3);
    const Case one = random_case(random);
    QVERIFY(!position_of(one.tasks, one.sequence, {99, 0}));
    QVERIFY(!position_of(one.tasks, one.sequence, {0, 0}, 99));
  }
};

REGISTER_TEST(SequenceTest)

}  // namespace sequence_test

#include "sequence_test.moc"
