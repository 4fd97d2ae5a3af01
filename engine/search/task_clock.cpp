#include "engine/search/task_clock.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>

#include "engine/graph/op_definition.h"

namespace shardscope {

void PartWork::take_smaller(const PartWork& other) {
  clock = std::min(clock, other.clock);
  computing = std::min(computing, other.computing);
  passing = std::min(passing, other.passing);
  weight_computing = std::min(weight_computing, other.weight_computing);
  weights = std::max(weights, other.weights);
  ahead = std::max(ahead, other.ahead);
  behind = std::max(behind, other.behind);
  movable = std::max(movable, other.movable);
  free_wire = std::max(free_wire, other.free_wire);
  firm = std::min(firm, other.firm);
  for (std::vector<double> PartWork::*of : {&PartWork::wire, &PartWork::weight_wire, &PartWork::given, &PartWork::made,
                                            &PartWork::with_given, &PartWork::with_made}) {
    for (size_t s = 0; s < (this->*of).size(); ++s) (this->*of)[s] = std::min((this->*of)[s], (other.*of)[s]);
  }
}

bool is_bucket(const CollectiveStart& start) { return start.operands.size() > 1 && !start.counted; }

TaskClock::TaskClock(const Program& program, const Graph& graph, const NetworkParts& parts, const Streams& streams,
                     bool overlaps, const std::vector<bool>& weight_gradient, const std::vector<bool>& left_out,
                     bool coarse, int kept)
    : program_(program),
      graph_(graph),
      parts_(parts),
      streams_(streams),
      overlaps_(overlaps),
      weight_gradient_(weight_gradient),
      left_out_(left_out),
      coarse_(coarse),
      part_count_(kept + 2),
      used_(program.values.size()) {
  for (const Task& task : program.tasks) {
    for (const Instruction& instruction : task.instructions) {
      for (int operand : instruction.operands()) used_[static_cast<size_t>(operand)] = true;
    }
  }
}

PartWork TaskClock::no_work() const {
  PartWork none;
  none.wire.resize(streams_.names.size());
  none.weight_wire = none.wire;
  if (!coarse_) none.given = none.made = none.with_given = none.with_made = none.wire;
  return none;
}

std::vector<PartWork> TaskClock::run(const Task& task, const std::vector<double>& seconds, double* tail,
                                     PartMessages* messages, bool without_weights) {
  const bool is_backward = task.phase == Phase::backward;
  std::vector<PartWork> works(static_cast<size_t>(part_count_), no_work());
  ready_.assign(program_.values.size(), 0);
  maker_.assign(program_.values.size(), -1);
  started_in_.assign(program_.values.size(), -1);
  is_early_.assign(program_.values.size(), true);
  waits_.assign(program_.values.size(), false);
  std::vector<bool> is_of_weights(program_.values.size());
  const size_t count = task.instructions.size();
  std::vector<double> increments(count), computed(count), transferred(count);
  std::vector<bool> moves(count), waiting(count), defers(count);
  std::vector<int> part(count), first_use(works.size(), -1), last_give(works.size(), -1);
  std::vector<std::vector<std::pair<int, int>>> given(works.size());
  const std::vector<bool> left_out = without_weights ? needed_by_weights_alone(task) : std::vector<bool>(count);
  double clock = 0, end = 0;
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = task.instructions[i];
    part[i] = std::max(0, parts_.of_op(instruction.op));
    if (left_out[i]) continue;
    const bool of_weights = makes_weight_gradient(instruction);
    PartWork& work = works[static_cast<size_t>(part[i])];
    const double before = clock;
    bool is_carried = false;
    const bool is_deferred = accumulates(instruction, graph_);
    const CollectiveStart* start = instruction.as<CollectiveStart>();
    if (start) {
      // Of what several layers share only the first part is known to be there; metrics may be summed later.
      const bool is_metric = task.phase != Phase::update && std::ranges::none_of(start->destinations, [&](int value) {
                               return used_[static_cast<size_t>(value)];
                             });
      // Where gradients of what is beside the layers are summed, replicas may change: behind all microbatches, say.
      const bool may_be_summed_later = coarse_ && of_weights && part[i] >= part_count_ - 2;
      const double took = is_bucket(*start) || is_metric || may_be_summed_later ? 0 : seconds[i];
      const int stream = streams_.of(program_, *start);
      const bool joined = overlaps_ && streams_.find(Streams::compute, stream);
      work.wire[static_cast<size_t>(stream)] += took;
      const bool moves_gradients = std::ranges::all_of(
          start->operands, [&](int operand) { return is_of_weights[static_cast<size_t>(operand)]; });
      if (moves_gradients) work.weight_wire[static_cast<size_t>(stream)] += took;
      for (int result : start->destinations) is_of_weights[static_cast<size_t>(result)] = moves_gradients;
      transferred[i] = joined ? took : 0;
      double ready = 0;
      bool early = true;
      for (int operand : start->operands) ready = std::max(ready, ready_[operand]), early &= is_early_[operand];
      is_carried = early;
      if (joined) {
        if (!early && !waits(instruction, part, i, is_backward)) work.free_wire += took;
        for (int result : start->destinations) {
          ready_[result] = early ? 0 : ready + took;
          started_in_[result] = part[i];
          is_early_[result] = early;
          if (!early && parts_.rank(part[i]) <= 0) end = std::max(end, ready + took);
        }
      } else {
        clock = std::max(clock, early ? 0 : ready) + took;
        for (int result : start->destinations) ready_[result] = clock, is_early_[result] = false;
      }
    } else if (!instruction.as<CollectiveDone>()) {
      const bool carried = may_be_carried(instruction);
      bool early = carried;
      for (int operand : instruction.operands()) {
        // Of what another part has started, more of the whole network may be in between.
        if (!carried && !is_deferred && (started_in_[operand] < 0 || started_in_[operand] == part[i]))
          clock = std::max(clock, ready_[operand]);
        early &= is_early_[operand];
      }
      // Replicas may share what is made of states alone.
      const bool known =
          !(coarse_ && early) && (instruction.op == no_id || !left_out_[static_cast<size_t>(instruction.op)]);
      computed[i] = known ? seconds[i] : 0;
      clock += computed[i];
      work.computing += computed[i];
      for (int result : instruction.results()) {
        ready_[result] = early ? 0 : clock;
        is_early_[result] = early;
        is_of_weights[static_cast<size_t>(result)] = of_weights && instruction.as<Compute>();
      }
    }
    increments[i] = clock - before;
    work.clock += increments[i];
    if (of_weights) work.weights += increments[i], work.weight_computing += computed[i];
    waiting[i] = waits(instruction, part, i, is_backward);
    moves[i] = is_deferred || (start && (of_weights || is_carried || !waiting[i]));
    defers[i] = is_deferred;
    const bool is_shared = start && is_bucket(*start);
    for (int operand : is_shared ? std::span<const int>() : instruction.operands()) {
      const int maker = maker_[operand];
      if (maker < 0 || part[static_cast<size_t>(maker)] == part[i] || !is_sent(operand)) continue;
      const int from = part[static_cast<size_t>(maker)];
      if (!is_onwards(from, part[i], is_backward)) continue;
      if (first_use[static_cast<size_t>(part[i])] < 0) first_use[static_cast<size_t>(part[i])] = static_cast<int>(i);
      last_give[static_cast<size_t>(from)] = std::max(last_give[static_cast<size_t>(from)], maker);
      given[static_cast<size_t>(from)].emplace_back(operand, part[i]);
    }
    if (!instruction.as<CollectiveDone>()) {
      for (int result : instruction.destinations()) waits_[result] = waiting[i];
    }
    for (int result : instruction.results()) maker_[result] = static_cast<int>(i);
  }
  const int end_of_messages = *std::ranges::max_element(last_give);
  for (size_t i = 0; i < count; ++i) {
    PartWork& work = works[static_cast<size_t>(part[i])];
    if (moves[i] || static_cast<int>(i) > end_of_messages) work.movable += increments[i];
    const int use = first_use[static_cast<size_t>(part[i])], give = last_give[static_cast<size_t>(part[i])];
    const OpId op = task.instructions[i].op;
    const bool again = op != no_id && graph_.ops[static_cast<size_t>(op)].phase == Phase::recompute;
    if (use < 0 || static_cast<int>(i) < use || again) work.ahead += increments[i];
    if (give < 0 || static_cast<int>(i) > give || defers[i]) work.behind += increments[i];
    else if (waiting[i] && !again) work.passing += computed[i];
    const int beside = part[i] == part_count_ - 2 ? 0 : part[i] == part_count_ - 1 ? part_count_ - 3 : -1;
    if (beside >= 0 && (defers[i] || static_cast<int>(i) > last_give[static_cast<size_t>(beside)]))
      work.late += increments[i];
  }
  if (!coarse_ && !without_weights) add_transfers(task, computed, transferred, part, is_backward, works);
  if (tail) *tail = std::max(0.0, end - clock);
  if (messages) *messages = messages_of(given);
  return works;
}

void TaskClock::add_transfers(const Task& task, const std::vector<double>& computed,
                              const std::vector<double>& transferred, const std::vector<int>& part, bool is_backward,
                              std::vector<PartWork>& works) {
  const size_t count = task.instructions.size();
  std::vector<std::vector<int>> needs(program_.values.size());  // by value: starts that move what the task is given
  std::vector<int> made_by(program_.values.size(), -1);         // by value: the last of what runs as listed
  std::vector<std::vector<int>> needed(count), behind(count);   // by what runs as listed: starts
  std::vector<bool> is_known(count);
  std::vector<int> firm;
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = task.instructions[i];
    if (instruction.as<CollectiveDone>()) continue;
    const CollectiveStart* start = instruction.as<CollectiveStart>();
    std::vector<int> inherited;
    bool is_early = true;
    int maker = -1;
    for (int operand : instruction.operands()) {
      const std::vector<int>& of = needs[static_cast<size_t>(operand)];
      inherited.insert(inherited.end(), of.begin(), of.end());
      is_early &= is_early_[static_cast<size_t>(operand)];
      maker = std::max(maker, made_by[static_cast<size_t>(operand)]);
    }
    if (start && is_early && transferred[i] > 0) inherited.push_back(static_cast<int>(i));
    if (start && !is_early && maker >= 0 && part[static_cast<size_t>(maker)] == part[i])
      behind[static_cast<size_t>(maker)].push_back(static_cast<int>(i));
    if (!start && !may_be_carried(instruction) && !accumulates(instruction, graph_)) {
      for (int one : inherited) {
        if (is_known[static_cast<size_t>(one)]) continue;
        is_known[static_cast<size_t>(one)] = true;
        if (part[static_cast<size_t>(one)] == part[i]) needed[i].push_back(one);
      }
      inherited.clear();
      maker = static_cast<int>(i);
      firm.push_back(maker);
    }
    for (int result : instruction.destinations()) {
      needs[static_cast<size_t>(result)] = inherited;
      made_by[static_cast<size_t>(result)] = maker;
    }
  }
  // Parts one behind the other.
  const bool is_in_order = std::ranges::is_sorted(firm, [&](int a, int b) {
    return is_onwards(part[static_cast<size_t>(a)], part[static_cast<size_t>(b)], is_backward);
  });
  if (!is_in_order) return;
  const auto stream = [&](int start) {
    return static_cast<size_t>(
        streams_.of(program_, *task.instructions[static_cast<size_t>(start)].as<CollectiveStart>()));
  };
  for (int i : firm) {
    PartWork& work = works[static_cast<size_t>(part[static_cast<size_t>(i)])];
    const double own = computed[static_cast<size_t>(i)];
    for (int start : needed[static_cast<size_t>(i)])
      work.given[stream(start)] += transferred[static_cast<size_t>(start)];
    for (size_t s = 0; s < work.given.size(); ++s)
      work.with_given[s] = std::max(work.with_given[s], work.given[s]) + own;
    work.firm += own;
  }
  for (size_t at = firm.size(); at-- > 0;) {
    const auto i = static_cast<size_t>(firm[at]);
    PartWork& work = works[static_cast<size_t>(part[i])];
    for (int start : behind[i]) work.made[stream(start)] += transferred[static_cast<size_t>(start)];
    for (size_t s = 0; s < work.made.size(); ++s)
      work.with_made[s] = std::max(work.with_made[s], work.made[s]) + computed[i];
  }
}

bool TaskClock::makes_weight_gradient(const Instruction& instruction) const {
  return instruction.op != no_id && weight_gradient_[static_cast<size_t>(instruction.op)];
}

std::vector<bool> TaskClock::needed_by_weights_alone(const Task& task) const {
  std::vector<bool> alone(task.instructions.size()), is_needed(program_.values.size());
  for (size_t i = task.instructions.size(); i-- > 0;) {
    const Instruction& instruction = task.instructions[i];
    const auto needed = [&](int value) { return is_needed[static_cast<size_t>(value)]; };
    // What lowering made for the first to use it: a gathered cotangent, say.
    const bool moves = !instruction.as<Compute>();
    alone[i] =
        makes_weight_gradient(instruction) && !(moves && (std::ranges::any_of(instruction.results(), needed) ||
                                                          std::ranges::any_of(instruction.destinations(), needed)));
    if (alone[i]) continue;
    for (int value : instruction.operands()) is_needed[static_cast<size_t>(value)] = true;
  }
  return alone;
}

bool TaskClock::may_be_carried(const Instruction& instruction) const {
  if (instruction.as<Slice>()) return true;
  const Compute* compute = instruction.as<Compute>();
  return compute && compute->operands.size() == 1 && is_early_[compute->operands[0]] &&
         !(instruction.op != no_id && graph_.ops[instruction.op].definition->must_be_in_place());
}

bool TaskClock::waits(const Instruction& instruction, const std::vector<int>& part, size_t i, bool is_backward) const {
  return std::ranges::any_of(instruction.operands(), [&](int operand) {
    const int maker = maker_[operand];
    return waits_[operand] ||
           (maker >= 0 && is_sent(operand) && is_onwards(part[static_cast<size_t>(maker)], part[i], is_backward));
  });
}

bool TaskClock::is_onwards(int from, int to, bool is_backward) const {
  return is_backward ? parts_.rank(from) > parts_.rank(to) : parts_.rank(from) < parts_.rank(to);
}

PartMessages TaskClock::messages_of(std::vector<std::vector<std::pair<int, int>>>& given) const {
  PartMessages messages;
  double least = std::numeric_limits<double>::infinity();
  for (int part = 0; part < part_count_; ++part) {
    std::vector<std::pair<int, int>>& values = given[static_cast<size_t>(part)];
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.empty()) continue;
    messages.is_single &= values.size() == 1 && std::abs(parts_.rank(values[0].second) - parts_.rank(part)) == 1;
    if (part >= part_count_ - 2) continue;
    double bytes = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0 && values[i].first == values[i - 1].first) continue;
      bytes += static_cast<double>(program_.values[values[i].first].bytes());
    }
    least = std::min(least, bytes);
  }
  if (least < std::numeric_limits<double>::infinity()) messages.bytes = least;
  return messages;
}

}  // namespace shardscope
