#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "engine/program/dependencies.h"

namespace shardscope::test {

// One of the orders that a task's dependencies allow, in which collectives of a group are done as they are started, and
// sends and receives stay as they are listed.
inline IssueOrder random_order(const Program& program, const Graph& graph, int number, std::mt19937& random) {
  const Task& task = program.tasks[static_cast<size_t>(number)];
  const size_t count = task.instructions.size();
  std::vector<Dependency> dependencies = Dependencies(program, graph).of(number);
  int transfer = -1;
  for (int i = 0; i < task.size(); ++i) {
    if (!is_transfer(task.instructions[static_cast<size_t>(i)].kind())) continue;
    if (transfer >= 0) dependencies.push_back({transfer, i});
    transfer = i;
  }
  std::vector<int> waits(count), order;
  std::vector<std::vector<int>> users(count);
  for (const Dependency& one : dependencies) {
    ++waits[static_cast<size_t>(one.behind)];
    users[static_cast<size_t>(one.before)].push_back(one.behind);
  }
  std::vector<std::vector<int>> open(program.groups.size());
  const auto open_of = [&](int start) -> std::vector<int>& {
    const AxisList& axes = task.instructions[static_cast<size_t>(start)].axes();
    return open[static_cast<size_t>(std::ranges::find(program.groups, axes) - program.groups.begin())];
  };
  std::vector<int> ready;
  for (int i = 0; i < task.size(); ++i) {
    if (waits[static_cast<size_t>(i)] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::vector<size_t> allowed;
    for (size_t r = 0; r < ready.size(); ++r) {
      const Instruction& instruction = task.instructions[static_cast<size_t>(ready[r])];
      const CollectiveDone* done = instruction.as<CollectiveDone>();
      if (done && open_of(done->start).front() != done->start) continue;
      if (instruction.as<CollectiveStart>() && open_of(ready[r]).size() == most_open_collectives) continue;
      allowed.push_back(r);
    }
    const size_t chosen = allowed[random() % allowed.size()];
    const int next = ready[chosen];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
    const Instruction& instruction = task.instructions[static_cast<size_t>(next)];
    if (instruction.as<CollectiveStart>()) open_of(next).push_back(next);
    if (const CollectiveDone* done = instruction.as<CollectiveDone>()) {
      std::vector<int>& own = open_of(done->start);
      own.erase(own.begin());
    }
    order.push_back(next);
    for (int user : users[static_cast<size_t>(next)]) {
      if (--waits[static_cast<size_t>(user)] == 0) ready.push_back(user);
    }
  }
  return IssueOrder(std::move(order));
}

}  // namespace shardscope::test
