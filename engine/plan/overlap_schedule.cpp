#include "engine/plan/overlap_schedule.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "engine/graph/op_definition.h"
#include "engine/simulate/stage_clock.h"

namespace shardscope {

namespace {

// For each instruction of a task others of it, as one array.
class Neighbours {
 public:
  Neighbours(const std::vector<Dependency>& dependencies, size_t count, int Dependency::*of, int Dependency::*other)
      : first_(count + 1) {
    for (const Dependency& one : dependencies) ++first_[static_cast<size_t>(one.*of) + 1];
    for (size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
    list_.resize(dependencies.size());
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    for (const Dependency& one : dependencies) list_[next[static_cast<size_t>(one.*of)]++] = one.*other;
  }
  std::span<const int> operator[](int index) const {
    const auto at = static_cast<size_t>(index);
    return std::span(list_).subspan(first_[at], first_[at + 1] - first_[at]);
  }

 private:
  std::vector<size_t> first_;
  std::vector<int> list_;
};

class OverlappedTask {
 public:
  OverlappedTask(const Program& program, const Graph& graph, const Task& task, std::span<const double> seconds,
                 const std::vector<Dependency>& dependencies, const Streams& streams, double lookahead)
      : program_(program),
        graph_(graph),
        task_(task),
        seconds_(seconds),
        streams_(streams),
        lookahead_(lookahead),
        count_(task.instructions.size()),
        makers_(dependencies, count_, &Dependency::behind, &Dependency::before),
        users_(dependencies, count_, &Dependency::before, &Dependency::behind),
        role_(count_),
        done_of_(count_, -1),
        earliest_(count_),
        slot_(count_),
        is_issued_(count_),
        needed_(count_),
        used_(count_),
        unissued_(streams.names.size()),
        waiting_(streams.names.size()),
        open_(program.groups.size()),
        clock_(streams) {}

  IssueOrder run() {
    classify();
    walk_back();
    walk_forward();
    return IssueOrder(std::move(order_));
  }

  OverlappedSeconds seconds() const { return {sent_, clock_.time()}; }

 private:
  // fixed: in the listed order. carried: goes ahead with a start that needs it. deferred: comes behind the dones that
  // it needs.
  enum class Role : uint8_t { fixed, carried, deferred, start, done };
  // Starts, by when they are needed.
  using Waiting = std::set<std::pair<double, int>>;

  size_t at(int index) const { return static_cast<size_t>(index); }
  int stream(const CollectiveStart& start) const { return streams_.of(program_, start); }
  Waiting& waiting(int start) { return waiting_[at(stream(start_at(start)))]; }
  const CollectiveStart& start_at(int index) const { return *task_.instructions[at(index)].as<CollectiveStart>(); }
  int start_of(int done) const { return task_.instructions[at(done)].as<CollectiveDone>()->start; }
  bool is_moving(int start) const { return clock_.is_open(start, stream(start_at(start))); }
  size_t group(int start) const {
    return static_cast<size_t>(std::ranges::find(program_.groups, start_at(start).axes) - program_.groups.begin());
  }
  // How long a start is to be ahead of its done.
  double wanted(int start) const {
    const auto joined = streams_.find(Streams::compute, stream(start_at(start)));
    return lookahead_ * seconds_[at(start)] * joined->of_second;
  }

  void classify() {
    for (int i = 0; i < static_cast<int>(count_); ++i) {
      const Instruction& instruction = task_.instructions[at(i)];
      if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
        if (streams_.find(Streams::compute, stream(*start))) role_[at(i)] = Role::start;
      } else if (const CollectiveDone* done = instruction.as<CollectiveDone>()) {
        done_of_[at(done->start)] = i;
        if (role_[at(done->start)] == Role::start) role_[at(i)] = Role::done;
      } else if (may_be_carried(i)) {
        role_[at(i)] = Role::carried;
      } else if (may_be_deferred(i)) {
        role_[at(i)] = Role::deferred;
      }
      if (role_[at(i)] == Role::fixed) {
        earliest_[at(i)] = i;
        continue;
      }
      for (int maker : makers_[i]) {
        const int behind = role_[at(maker)] == Role::fixed ? maker + 1 : earliest_[at(maker)];
        earliest_[at(i)] = std::max(earliest_[at(i)], behind);
      }
    }
  }

  bool may_be_carried(int index) const {
    const Instruction& instruction = task_.instructions[at(index)];
    if (const Compute* compute = instruction.as<Compute>()) {
      const OpDefinition* op = instruction.op == no_id ? nullptr : graph_.ops[instruction.op].definition;
      if (compute->operands.size() != 1 || (op && op->must_be_in_place())) return false;
    } else if (!instruction.as<Slice>()) {
      return false;
    }
    const bool is_slice = instruction.as<Slice>();
    return std::ranges::all_of(makers_[index], [&](int maker) {
      return role_[at(maker)] == Role::carried || (is_slice && role_[at(maker)] == Role::done);
    });
  }

  // Adding up what was reduced: nothing of the task waits for it.
  bool may_be_deferred(int index) const {
    return accumulates(task_.instructions[at(index)], graph_) && users_[index].empty() &&
           std::ranges::any_of(makers_[index], [&](int maker) { return role_[at(maker)] == Role::done; });
  }

  void walk_back() {
    std::vector<double> computed(count_ + 1);  // seconds before each slot
    for (size_t i = 0; i < count_; ++i) {
      const bool computes = role_[i] != Role::start && role_[i] != Role::done;
      computed[i + 1] = computed[i] + (computes ? seconds_[i] : 0);
    }
    std::vector<double> free_until(streams_.names.size(), std::numeric_limits<double>::infinity());
    for (int i = static_cast<int>(count_) - 1; i >= 0; --i) {
      if (role_[at(i)] == Role::fixed) {
        slot_[at(i)] = i;
        continue;
      }
      const bool waits = role_[at(i)] == Role::done || role_[at(i)] == Role::deferred;
      int latest = waits ? static_cast<int>(count_) : i;
      for (int user : users_[i]) latest = std::min(latest, slot_[at(user)]);
      if (role_[at(i)] == Role::start) {
        double& until = free_until[at(stream(start_at(i)))];
        const double used = computed[at(slot_[at(done_of_[at(i)])])], begin = std::min(used, until) - wanted(i);
        needed_[at(i)] = std::min(used, computed[at(i)] + wanted(i));
        used_[at(i)] = used;
        unissued_[at(stream(start_at(i)))].insert(used);
        const auto behind = std::ranges::upper_bound(computed, begin);
        latest = std::min(latest, static_cast<int>(behind - computed.begin()) - 1);
        latest = std::max(latest, earliest_[at(i)]);
        // In the midst of what is computed behind its slot it is still in time.
        until = std::max(begin, computed[at(latest)]);
      }
      slot_[at(i)] = std::max(latest, earliest_[at(i)]);
    }
  }

  void walk_forward() {
    std::vector<std::vector<int>> moved(count_ + 1);  // by slot
    for (int i = 0; i < static_cast<int>(count_); ++i) {
      const bool is_carried = role_[at(i)] == Role::carried && slot_[at(i)] == i;
      if (role_[at(i)] == Role::start || is_carried) moved[at(before_pair(slot_[at(i)]))].push_back(i);
    }
    for (int i = 0; i < static_cast<int>(count_); ++i) {
      for (int one : moved[at(i)]) {
        if (role_[at(one)] == Role::start) waiting(one).emplace(needed_[at(one)], one);
        else if (!is_issued_[at(one)]) issue(one);
      }
      if (before_pair(i) == i) {
        issue_wanted(i);
        retire();
      }
      if (role_[at(i)] == Role::fixed) {
        make_ready(i);
        // What was waited for has left its stream idle.
        if (before_pair(i) == i) issue_wanted(i);
        issue(i);
      }
      if (role_[at(i)] == Role::deferred) issue_deferred(i);
    }
    for (Waiting& of_stream : waiting_) {
      while (!of_stream.empty()) issue_start(of_stream.begin()->second);
    }
    for (size_t place = 0; place < order_.size(); ++place) {
      const int done = done_of_[at(order_[place])];
      if (done >= 0 && !is_issued_[at(done)]) finish(done);
    }
  }

  // Whether the stream of a start might else be idle before the next slot, or soon behind it.
  bool is_wanted(int start, int slot) const {
    const bool computes = role_[at(slot)] == Role::fixed && !task_.instructions[at(slot)].as<CollectiveStart>();
    const double until_next = computes ? seconds_[at(slot)] : 0;
    return clock_.queued_seconds(stream(start_at(start))) <= wanted(start) + until_next;
  }

  // Whether waiting neither lets a start pass that is needed earlier nor saves memory, where computing may take longer
  // than expected, which would leave the link idle.
  bool waits_in_vain(int start) const {
    const CollectiveStart& collective = start_at(start);
    return streams_.shares_cores && bytes(collective.destinations) < bytes(collective.operands) &&
           open_[group(start)].size() < most_open_collectives &&
           *unissued_[at(stream(collective))].begin() >= used_[at(start)];
  }

  int64_t bytes(const std::vector<int>& values) const {
    int64_t sum = 0;
    for (int value : values) sum += program_.values.at(value).bytes();
    return sum;
  }

  void issue_wanted(int slot) {
    for (Waiting& of_stream : waiting_) {
      issue_while(of_stream, [&](int start) { return is_wanted(start, slot) || waits_in_vain(start); });
    }
  }

  // What is to be under way once a transfer that is waited for has ended: its stream is not idle until the next start.
  void issue_behind(int transfer) {
    const int on = stream(start_at(transfer));
    if (!is_moving(transfer)) return;
    issue_while(waiting_[at(on)], [&](int start) {
      return open_[group(start)].size() < most_open_collectives && clock_.queued_behind(transfer, on) <= wanted(start);
    });
  }

  template <class MayGo>
  void issue_while(Waiting& of_stream, const MayGo& may_go) {
    for (auto next = of_stream.begin(); next != of_stream.end() && may_go(next->second);) {
      const std::pair<double, int> one = *next;
      if (is_ready(one.second)) issue_start(one.second);
      next = of_stream.upper_bound(one);
    }
  }

  // Whether nothing would wait for a transfer if it were issued.
  bool is_ready(int index) const {
    return std::ranges::all_of(makers_[index], [&](int maker) {
      if (is_issued_[at(maker)]) return true;
      if (role_[at(maker)] == Role::carried) return is_ready(maker);
      return role_[at(maker)] == Role::done && is_issued_[at(start_of(maker))] && !is_moving(start_of(maker));
    });
  }

  // One that waits, before others.
  void issue_start(int start) {
    if (waiting(start).erase({needed_[at(start)], start}) > 0) issue(start);
  }

  // Nothing comes between a start and a done that block.
  int before_pair(int slot) const {
    const bool parts = slot < static_cast<int>(count_) && role_[at(slot)] == Role::fixed &&
                       task_.instructions[at(slot)].as<CollectiveDone>();
    return parts ? start_of(slot) : slot;
  }

  void make_ready(int index) {
    for (int maker : makers_[index]) {
      if (is_issued_[at(maker)]) continue;
      if (role_[at(maker)] == Role::done) finish(maker);
      if (role_[at(maker)] == Role::start) issue_start(maker);
      if (role_[at(maker)] == Role::carried) issue(maker);
    }
  }

  void issue(int index) {
    make_ready(index);
    const Instruction& instruction = task_.instructions[at(index)];
    if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
      if (role_[at(index)] == Role::start) {
        std::deque<Open>& open = open_[group(index)];
        if (open.size() == most_open_collectives) finish(done_of_[at(open.front().start)]);
        open.push_back({index, clock_.time() + wanted(index)});
        std::multiset<double>& unissued = unissued_[at(stream(*start))];
        unissued.erase(unissued.find(used_[at(index)]));
      }
      clock_.start(index, stream(*start), seconds_[at(index)]);
    } else if (const CollectiveDone* done = instruction.as<CollectiveDone>()) {
      clock_.finish(done->start, stream(start_at(done->start)));
    } else {
      clock_.compute(seconds_[at(index)]);
    }
    if (instruction.as<Send>()) sent_ = clock_.time();
    append(index);
  }

  void append(int index) {
    is_issued_[at(index)] = true;
    order_.push_back(index);
  }

  // With those of its group that were started before it.
  void finish(int done) {
    const int start = start_of(done);
    issue_start(start);
    std::deque<Open>& open = open_[group(start)];
    while (!is_issued_[at(done)]) {
      issue_behind(open.front().start);
      if (is_issued_[at(done)]) break;
      const int oldest = open.front().start;
      open.pop_front();
      clock_.finish(oldest, stream(start_at(oldest)));
      append(done_of_[at(oldest)]);
      for (int user : users_[done_of_[at(oldest)]]) {
        if (role_[at(user)] == Role::deferred) issue_deferred(user);
      }
    }
  }

  void issue_deferred(int index) {
    const bool has_all = std::ranges::all_of(makers_[index], [&](int maker) { return is_issued_[at(maker)]; });
    if (has_all && !is_issued_[at(index)]) issue(index);
  }

  void retire() {
    for (std::deque<Open>& open : open_) {
      while (!open.empty() && clock_.time() >= open.front().until && !is_moving(open.front().start))
        finish(done_of_[at(open.front().start)]);
    }
  }

  struct Open {
    int start = -1;
    double until = 0;  // it stays open so long
  };

  const Program& program_;
  const Graph& graph_;
  const Task& task_;
  std::span<const double> seconds_;
  const Streams& streams_;
  double lookahead_;
  size_t count_;
  Neighbours makers_, users_;  // what an instruction depends on, and what depends on it
  std::vector<Role> role_;
  std::vector<int> done_of_;
  std::vector<int> earliest_, slot_;  // what moves with slot i is issued before the listed instruction i
  std::vector<bool> is_issued_;
  std::vector<double> needed_;  // per start: by when it is to be done, in seconds that are computed before
  std::vector<double> used_;    // per start: when its result is first used, likewise
  std::vector<std::multiset<double>> unissued_;  // per stream: of its starts
  std::vector<Waiting> waiting_;                 // per stream: starts that may be issued from here on
  std::vector<std::deque<Open>> open_;           // per group
  StageClock clock_;
  double sent_ = 0;
  std::vector<int> order_;
};

bool has_collectives(const Task& task) {
  return std::ranges::any_of(task.instructions,
                             [](const Instruction& instruction) { return is_collective(instruction.kind()); });
}

}  // namespace

std::vector<IssueOrder> overlapped_orders(const Program& program, const Graph& graph,
                                          const InstructionTable<double>& seconds, const Streams& streams,
                                          double lookahead) {
  Dependencies dependencies(program, graph);
  std::vector<IssueOrder> orders;
  for (int t = 0; t < static_cast<int>(program.tasks.size()); ++t) {
    const Task& task = program.tasks[static_cast<size_t>(t)];
    orders.push_back(has_collectives(task) ? OverlappedTask(program, graph, task, seconds.tasks[static_cast<size_t>(t)],
                                                            dependencies.of(t), streams, lookahead)
                                                 .run()
                                           : IssueOrder());
  }
  return orders;
}

OverlappedSeconds overlapped_seconds(const Program& program, const Graph& graph, int task,
                                     std::span<const double> seconds, const std::vector<Dependency>& dependencies,
                                     const Streams& streams, double lookahead) {
  OverlappedTask overlapped(program, graph, program.tasks[static_cast<size_t>(task)], seconds, dependencies, streams,
                            lookahead);
  overlapped.run();
  return overlapped.seconds();
}

}  // namespace shardscope
