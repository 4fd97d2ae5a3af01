#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "engine/program/program.h"

namespace shardscope::test {

// A program of one task: random instructions, each of what others made before it, with collectives over two groups in
// blocking form; and how long each takes.
struct RandomProgram {
  Program program;
  Graph graph;
  Mesh mesh{{{"a", 2}, {"b", 2}}};
  InstructionTable<double> seconds;

  Task& task() { return program.tasks[0]; }
  const Task& task() const { return program.tasks[0]; }
};

class RandomPrograms {
 public:
  explicit RandomPrograms(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  double some_seconds() { return (1 + below(1000)) * 1e-3; }

  RandomProgram next() {
    RandomProgram one;
    one.program.groups.resize(2);
    for (int axis = 0; axis < 2; ++axis)
      one.program.groups[static_cast<size_t>(axis)].push_back(static_cast<AxisIndex>(axis));
    one.program.tasks.push_back({"forward", Phase::forward, {}, {}, {}});
    one.seconds.tasks.emplace_back();
    const int count = 2 + below(40);
    for (int i = 0; i < count; ++i) {
      switch (below(3)) {
        case 0: add_collective(one); break;
        case 1: add(one, Slice{some_values(one, 1), {new_value(one)}, {}, {}, 0}, some_seconds()); break;
        default: add(one, Compute{some_values(one, below(3)), {new_value(one)}}, some_seconds());
      }
    }
    one.program.sequences = {make_sequence(Purpose::train_step, {{0}}, one.program.tasks)};
    return one;
  }

 private:
  int new_value(RandomProgram& one) {
    ProgramValue value;
    value.moved = true;
    value.sharding = Sharding::replicated(0);
    one.program.values.push_back(value);
    return static_cast<int>(one.program.values.size()) - 1;
  }

  // Of those that are made; none where there are none.
  std::vector<int> some_values(RandomProgram& one, int count) {
    std::vector<int> values;
    for (int i = 0; i < count && !made_of(one).empty(); ++i) {
      const std::vector<int> made = made_of(one);
      values.push_back(made[static_cast<size_t>(below(static_cast<int>(made.size())))]);
    }
    return values;
  }
  static std::vector<int> made_of(const RandomProgram& one) {
    std::vector<int> made;
    for (const Instruction& instruction : one.task().instructions)
      made.insert(made.end(), instruction.results().begin(), instruction.results().end());
    return made;
  }

  void add(RandomProgram& one, std::variant<Compute, Slice, CollectiveStart, CollectiveDone, Send, Receive> body,
           double seconds) {
    one.task().instructions.push_back({Phase::forward, no_id, std::move(body)});
    one.seconds.tasks[0].push_back(seconds);
  }

  void add_collective(RandomProgram& one) {
    CollectiveStart start;
    start.kind = InstructionKind::all_reduce;
    start.operands = some_values(one, 1);
    start.destinations = {new_value(one)};
    start.axes = one.program.groups[static_cast<size_t>(below(2))];
    CollectiveDone done{start.kind, one.task().size(), start.destinations};
    add(one, std::move(start), some_seconds());
    add(one, std::move(done), 0);
  }

  std::mt19937 random_;
};

}  // namespace shardscope::test
