#include "engine/plan/weight_gradient_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/graph/casts.h"
#include "engine/graph/op_definition.h"
#include "engine/plan/overlap_schedule.h"
#include "engine/plan/stages.h"
#include "engine/program/dependencies.h"

namespace shardscope {

namespace {

struct Gradients {
  std::vector<bool> ops_of_weights;    // weight_gradient_ops()
  std::vector<bool> values_of_states;  // values_of_states()
};

class BackwardTask {
 public:
  BackwardTask(const Program& program, const Graph& graph, const Task& task,
               const std::vector<Dependency>& dependencies, const Gradients& gradients)
      : program_(program),
        graph_(graph),
        list_(task.instructions),
        gradients_(gradients),
        makers_(list_.size()),
        users_(list_.size()) {
    for (const Dependency& one : dependencies) {
      makers_[at(one.behind)].push_back(one.before);
      users_[at(one.before)].push_back(one.behind);
    }
  }

  // Indices in their new order; empty where it is the old one.
  std::vector<int> run() {
    classify();
    choose();
    if (behind_.empty()) return {};
    std::vector<int> order;
    for (int i = 0; i < count(); ++i) {
      if (target_[at(i)] < 0) order.push_back(i);
      if (const auto held = behind_.find(i); held != behind_.end())
        order.insert(order.end(), held->second.rbegin(), held->second.rend());
    }
    return order;
  }

 private:
  static size_t at(int index) { return static_cast<size_t>(index); }
  int count() const { return static_cast<int>(list_.size()); }
  // Of a sum over microbatches that of what it adds up.
  int layer(int index) const {
    OpId op = list_[at(index)].op;
    if (op == no_id) return -1;
    if (graph_.ops[at(op)].definition->accumulates()) op = graph_.values[at(graph_.ops[at(op)].inputs[0])].producer;
    return graph_.ops[at(op)].place.layer;
  }

  // Which instructions serve gradients of parameters alone: what makes them, and what moves them or for them.
  void classify() {
    std::vector<bool> is_of_weights(list_.size());
    for (int i = 0; i < count(); ++i) {
      const Instruction& instruction = list_[at(i)];
      const std::vector<int>& makers = makers_[at(i)];
      if (instruction.as<Compute>()) is_of_weights[at(i)] = gradients_.ops_of_weights[at(instruction.op)];
      else if (!is_message(instruction) && !makers.empty())
        is_of_weights[at(i)] = std::ranges::all_of(makers, [&](int maker) { return is_of_weights[at(maker)]; });
    }
    of_weights_alone_ = is_of_weights;
    for (int i = count() - 1; i >= 0; --i) {
      const std::vector<int>& users = users_[at(i)];
      if (list_[at(i)].as<Compute>() || is_message(list_[at(i)]) || users.empty()) continue;
      of_weights_alone_[at(i)] = std::ranges::all_of(users, [&](int user) { return of_weights_alone_[at(user)]; });
    }
  }

  static bool is_message(const Instruction& instruction) { return instruction.as<Send>() || instruction.as<Receive>(); }

  // Backward waits for it: what it moves was made here.
  bool is_awaited(int index) const {
    if (list_[at(index)].as<Send>()) return true;
    const CollectiveDone* done = list_[at(index)].as<CollectiveDone>();
    if (!done || of_weights_alone_[at(index)] || makers_[at(done->start)].empty()) return false;
    if (done->collective == InstructionKind::collective_permute) return false;
    const ValueId moved = program_.values[at(done->results.front())].graph_value;
    return moved != no_id && !gradients_.values_of_states[at(moved)];
  }

  double moved_bytes(int index) const {
    const CollectiveDone* done = list_[at(index)].as<CollectiveDone>();
    return done ? list_[at(done->start)].wire_bytes() : 0;
  }
  double flops(int index) const {
    const Compute* compute = list_[at(index)].as<Compute>();
    return compute ? compute->flops : 0;
  }

  // Gradients of one layer, the last one first, and the transfers that they may be listed behind.
  struct Held {
    std::vector<int> list;
    std::optional<int> layer;
    int first = -1, second = -1;
    std::optional<int> layer_of_second;  // of what is behind it already
  };

  void choose() {
    target_.assign(list_.size(), -1);
    Held held;
    for (int i = count() - 1; i >= 0; --i) {
      if (of_weights_alone_[at(i)]) {
        if (held.first < 0) continue;
        if (held.layer.value_or(layer(i)) != layer(i)) {
          put(std::exchange(held, {}));
          continue;
        }
        held.layer = layer(i);
        held.list.push_back(i);
      } else if (is_awaited(i)) {
        put(held);
        const bool shares =
            held.first >= 0 && moved_bytes(held.first) > 0 && list_[at(held.first)].phase != Phase::recompute;
        held = {{}, {}, i, shares ? held.first : -1, held.layer};
      }
    }
    put(held);
  }

  void put(const Held& held) {
    const bool shares = held.second >= 0 && held.layer && held.layer_of_second.value_or(*held.layer) == *held.layer;
    double all = 0, later = 0;
    for (const int one : held.list) all += flops(one);
    if (shares) {
      for (const int one : behind_[held.second]) later += flops(one);
      all += later;
    }
    const double share = shares ? moved_bytes(held.second) / (moved_bytes(held.first) + moved_bytes(held.second)) : 0;
    bool goes_later = shares;
    for (const int one : held.list) {
      goes_later = goes_later && later + flops(one) <= share * all * (1 + rounding);
      if (goes_later) later += flops(one);
      target_[at(one)] = goes_later ? held.second : held.first;
      behind_[target_[at(one)]].push_back(one);
    }
  }

  static constexpr double rounding = 1e-9;

  const Program& program_;
  const Graph& graph_;
  const std::vector<Instruction>& list_;
  const Gradients& gradients_;
  std::vector<std::vector<int>> makers_, users_;
  std::vector<bool> of_weights_alone_;
  std::vector<int> target_;                 // what it comes behind, or -1: it stays
  std::map<int, std::vector<int>> behind_;  // by that, the last one first
};

// The orders of a program's backward tasks.
class BackwardOrders {
 public:
  BackwardOrders(const Program& program, const Graph& graph)
      : program_(program),
        graph_(graph),
        gradients_{weight_gradient_ops(graph), values_of_states(graph)},
        dependencies_(program, graph) {}

  std::vector<Dependency> dependencies(int task) { return dependencies_.of(task); }
  // Empty where it is the old one.
  std::vector<int> of(int task, const std::vector<Dependency>& dependencies) const {
    return BackwardTask(program_, graph_, program_.tasks[static_cast<size_t>(task)], dependencies, gradients_).run();
  }

 private:
  const Program& program_;
  const Graph& graph_;
  Gradients gradients_;
  Dependencies dependencies_;
};

std::vector<int> places_of(const std::vector<int>& order) {
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return place;
}

void reorder(Task& task, std::vector<double>& seconds, const std::vector<int>& order) {
  const std::vector<int> place = places_of(order);
  std::vector<Instruction> list;
  list.reserve(order.size());
  std::vector<double> seconds_of_list;
  for (const int index : order) {
    seconds_of_list.push_back(seconds[static_cast<size_t>(index)]);
    Instruction& instruction = list.emplace_back(std::move(task.instructions[static_cast<size_t>(index)]));
    if (CollectiveDone* done = instruction.as<CollectiveDone>()) done->start = place[static_cast<size_t>(done->start)];
  }
  task.instructions = std::move(list);
  seconds = std::move(seconds_of_list);
}

}  // namespace

bool orders_weight_gradients(OverlapMode overlap, const Stack& stack, const Machine& machine) {
  if (overlap == OverlapMode::off || !stack.runs_here()) return false;
  return std::ranges::any_of(
      machine.levels, [&](const Level& level) { return find_overlap(machine, "compute", level.name).has_value(); });
}

ListedOrders weight_gradient_orders(const Program& program, const Graph& graph) {
  BackwardOrders found(program, graph);
  ListedOrders orders(program.tasks.size());
  bool moves = false;
  for (size_t t = 0; t < orders.size(); ++t) {
    if (program.tasks[t].phase != Phase::backward) continue;
    const int task = static_cast<int>(t);
    orders[t] = found.of(task, found.dependencies(task));
    moves |= !orders[t].empty();
  }
  return moves ? orders : ListedOrders();
}

void list_in(const ListedOrders& orders, Program& program, InstructionTable<double>& seconds) {
  for (size_t t = 0; t < orders.size(); ++t) {
    if (!orders[t].empty()) reorder(program.tasks[t], seconds.tasks[t], orders[t]);
  }
}

void list_weight_gradients(Program& program, const Graph& graph, InstructionTable<double>& seconds,
                           const Streams& streams) {
  BackwardOrders found(program, graph);
  for (int t = 0; t < static_cast<int>(program.tasks.size()); ++t) {
    Task& task = program.tasks[static_cast<size_t>(t)];
    if (task.phase != Phase::backward) continue;
    std::vector<double>& took = seconds.tasks[static_cast<size_t>(t)];
    std::vector<Dependency> dependencies = found.dependencies(t);
    const std::vector<int> order = found.of(t, dependencies);
    if (order.empty()) continue;
    const std::vector<int> place = places_of(order);
    const auto listed = overlapped_seconds(program, graph, t, took, dependencies, streams, longest_lookahead);
    reorder(task, took, order);
    for (Dependency& one : dependencies) {
      one.before = place[static_cast<size_t>(one.before)];
      one.behind = place[static_cast<size_t>(one.behind)];
    }
    const auto moved = overlapped_seconds(program, graph, t, took, dependencies, streams, longest_lookahead);
    if (moved.sent + moved.done >= listed.sent + listed.done) reorder(task, took, place);
  }
}

}  // namespace shardscope
