#include "engine/program/dependencies.h"

#include <iterator>
#include <utility>

#include "engine/base/enum_count.h"
#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

// Of an instruction that reads, the one until which it does.
std::vector<int> ends_of(const Task& task) {
  std::vector<int> ends(task.instructions.size());
  for (int i = 0; i < task.size(); ++i) ends[static_cast<size_t>(i)] = i;
  for (int i = 0; i < task.size(); ++i) {
    const CollectiveDone* done = task.instructions[static_cast<size_t>(i)].as<CollectiveDone>();
    if (done) ends[static_cast<size_t>(done->start)] = i;
  }
  return ends;
}

}  // namespace

std::string_view name(DependencyKind kind) {
  constexpr std::string_view names[] = {"data", "in-place update", "buffer"};
  static_assert(std::size(names) == enum_count<DependencyKind>);
  return names[static_cast<int>(kind)];
}

Dependencies::Dependencies(const Program& program, const Graph& graph)
    : program_(program),
      graph_(graph),
      maker_(program.values.size()),
      stored_before_(graph.values.size(), -1),
      overwriter_(program.values.size(), -1) {
  for (int t = 0; t < static_cast<int>(program.tasks.size()); ++t) {
    const Task& task = program.tasks[static_cast<size_t>(t)];
    for (int i = 0; i < task.size(); ++i) {
      for (int value : task.instructions[static_cast<size_t>(i)].results()) maker_[static_cast<size_t>(value)] = {t, i};
    }
  }
  std::vector<int> source(graph.values.size(), -1);
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (is_source(program.values[v], graph)) source[program.values[v].graph_value] = static_cast<int>(v);
  }
  for (const State& state : graph.states) {
    if (state.after != no_id) stored_before_[state.after] = source[state.before];
  }
}

int Dependencies::overwritten(const Instruction& instruction, size_t result) const {
  const ProgramValue& made = program_.values[instruction.destinations()[result]];
  if (const Compute* compute = instruction.as<Compute>()) {
    const OpDefinition* definition = instruction.op == no_id ? nullptr : graph_.ops[instruction.op].definition;
    if (!definition || !definition->must_be_in_place()) return -1;
    const int operand = definition->in_place_operand(static_cast<int>(result));
    return operand < 0 ? -1 : compute->operands[static_cast<size_t>(operand)];
  }
  const int stored = made.graph_value == no_id ? -1 : stored_before_[made.graph_value];
  return stored >= 0 && program_.values[stored].sharding == made.sharding ? stored : -1;
}

std::vector<Dependency> Dependencies::of(int number) {
  const Task& task = program_.tasks[static_cast<size_t>(number)];
  const std::vector<int> ends = ends_of(task);
  std::vector<int> overwritten_values;
  for (int i = 0; i < task.size(); ++i) {
    const Instruction& instruction = task.instructions[static_cast<size_t>(i)];
    for (size_t r = 0; r < instruction.destinations().size(); ++r) {
      const int value = overwritten(instruction, r);
      if (value < 0) continue;
      overwriter_[static_cast<size_t>(value)] = i;
      overwritten_values.push_back(value);
    }
  }
  std::vector<Dependency> all;
  for (int i = 0; i < task.size(); ++i) {
    const Instruction& instruction = task.instructions[static_cast<size_t>(i)];
    if (const CollectiveDone* done = instruction.as<CollectiveDone>()) all.push_back({done->start, i});
    for (int value : instruction.operands()) {
      const InstructionId maker = maker_[static_cast<size_t>(value)];
      if (maker.task == number) all.push_back({maker.index, i});
      const int overwriter = overwriter_[static_cast<size_t>(value)];
      if (overwriter >= 0 && overwriter != i)
        all.push_back({ends[static_cast<size_t>(i)], overwriter, DependencyKind::in_place});
    }
  }
  for (int value : overwritten_values) overwriter_[static_cast<size_t>(value)] = -1;
  return all;
}

std::vector<Dependency> Dependencies::of(int number, const ArenaLayout& arena) const {
  const Task& task = program_.tasks[static_cast<size_t>(number)];
  const std::vector<int> ends = ends_of(task);
  std::vector<std::vector<int>> users(program_.values.size());  // that define or read it, indices
  for (int i = 0; i < task.size(); ++i) {
    const Instruction& instruction = task.instructions[static_cast<size_t>(i)];
    for (int value : instruction.operands()) users[static_cast<size_t>(value)].push_back(i);
    for (int value : instruction.results()) users[static_cast<size_t>(value)].push_back(i);
  }
  std::vector<int> held(arena.buffers.size(), -1);  // by buffer, in the order of issue: the value written last
  std::vector<Dependency> all;
  for (int place = 0; place < task.size(); ++place) {
    const int index = task.order.index(place);
    const Instruction& instruction = task.issued(place);
    for (int value : instruction.operands()) {
      const int buffer = arena.buffer_of[static_cast<size_t>(value)];
      if (buffer >= 0 && held[static_cast<size_t>(buffer)] < 0) held[static_cast<size_t>(buffer)] = value;
    }
    for (int value : instruction.destinations()) {
      const int buffer = arena.buffer_of[static_cast<size_t>(value)];
      if (buffer < 0) continue;
      const int before = std::exchange(held[static_cast<size_t>(buffer)], value);
      if (before < 0 || before == value) continue;
      for (int user : users[static_cast<size_t>(before)]) {
        if (user != index) all.push_back({ends[static_cast<size_t>(user)], index, DependencyKind::buffer});
      }
    }
  }
  return all;
}

}  // namespace shardscope
