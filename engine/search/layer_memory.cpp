#include "engine/search/layer_memory.h"

#include <algorithm>
#include <map>

#include "engine/graph/casts.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/stack_memory.h"
#include "engine/plan/stages.h"

namespace shardscope {

namespace {

// Per value whether a replica has it for itself: neither made of states alone, nor of what gradients of parameters are
// made of alone.
std::vector<bool> values_of_replica(const Graph& graph) {
  std::vector<bool> of_replica = values_of_states(graph);
  of_replica.flip();
  const std::vector<bool> of_weights = weight_gradient_ops(graph);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    for (ValueId value : graph.ops[op].outputs)
      of_replica[static_cast<size_t>(value)] = of_replica[static_cast<size_t>(value)] && !of_weights[op];
  }
  return of_replica;
}

class MemoryOfLayers {
 public:
  MemoryOfLayers(const Program& program, const Graph& graph, const NetworkParts& parts, const Stack& stack, int threads,
                 bool coarse)
      : program_(program), parts_(parts), arena_(assign_buffers(program, graph, threads)) {
    if (!stack.runs_here()) hold_as(stack, graph);
    reader_.assign(arena_.buffers.size(), -1);
    weights_reader_.assign(arena_.buffers.size(), -1);
    of_weights_ = weight_gradient_ops(graph);
    moved_.assign(arena_.buffers.size(), false);
    between_ops_.resize(arena_.buffers.size());
    find_readers();
    find_readers_for_weights(graph);
    find_moved();
    find_ops_between();
    find_passes();
    const std::vector<bool> of_replica =
        coarse ? values_of_replica(graph) : std::vector<bool>(graph.values.size(), true);
    for (const Buffer& buffer : arena_.buffers) {
      // Fewer ranks have more threads, with workspaces of their own.
      may_be_shared_.push_back(
          buffer.value < 0
              ? coarse
              : !of_replica[static_cast<size_t>(program.values[static_cast<size_t>(buffer.value)].graph_value)]);
      part_of_.push_back(
          buffer.value >= 0 ? std::max(0, parts.of_value(program.values[static_cast<size_t>(buffer.value)].graph_value))
                            : part_at_[static_cast<size_t>(buffer.first)]);
    }
  }

  LayerMemory run(bool accumulates) {
    add_rows();
    add_positions(accumulates);
    add_between();
    add_passing(forward_, memory_.passing_forward);
    add_passing(backward_, memory_.passing_backward);
    return std::move(memory_);
  }

 private:
  struct Pass {
    int first = -1, last = -1;  // positions
    bool has(int position) const { return position >= first && position <= last; }
    bool has(const Buffer& buffer) const { return has(buffer.first) && has(buffer.last); }
  };

  void hold_as(const Stack& stack, const Graph& graph) {
    arena_ = arrays_of_stack(program_, graph, stack, arena_);
    const std::vector<double> copies = gradient_copies(program_, graph, stack.memory);
    for (size_t v = 0; v < copies.size(); ++v) {
      if (const auto bytes = static_cast<int64_t>(copies[v]); bytes > 0) {
        // Split as the parameter is.
        arena_.buffers.push_back(
            {static_cast<int>(v), MemoryCategory::parameters, bytes, 0, 0, arena_.length - 1, true});
      }
    }
  }

  // Every instruction of the step at its position, as listed, each task once.
  template <class Visit>
  void visit_positions(const Visit& visit) const {
    for (const TaskRun& run : program_.main().runs) {
      if (!run.is_first) continue;
      const Task& task = program_.tasks[static_cast<size_t>(run.task)];
      for (int place = 0; place < task.size(); ++place) visit(run.folded_first + place, task.issued(place));
    }
  }
  // The buffers of these values that the stage has.
  template <class Values, class Visit>
  void visit_buffers(const Values& values, const Visit& visit) const {
    for (int value : values) {
      const int buffer = arena_.buffer_of[static_cast<size_t>(value)];
      if (buffer >= 0) visit(static_cast<size_t>(buffer));
    }
  }

  std::vector<double> zeros() const { return std::vector<double>(static_cast<size_t>(parts_.count())); }

  // By part the bytes of some buffers: at each position what it has more than at the one before.
  using Changes = std::vector<std::vector<double>>;
  Changes no_changes() const {
    return Changes(static_cast<size_t>(parts_.count()), std::vector<double>(static_cast<size_t>(arena_.length) + 1));
  }
  void add_life(Changes& changes, size_t b, const Pass& life) const {
    if (life.first < 0) return;
    const auto bytes = static_cast<double>(arena_.buffers[b].bytes);
    std::vector<double>& of_part = changes[static_cast<size_t>(part_of_[b])];
    of_part[static_cast<size_t>(life.first)] += bytes;
    of_part[static_cast<size_t>(life.last) + 1] -= bytes;
  }

  // Of a buffer within one pass, where it is in use in all orders. How long gradients wait to be summed, and what is
  // sliced or moved waits, is not the same in all; but these are there at the first op that stays where it is listed,
  // and that until the last.
  Pass life_within_pass(size_t b) const {
    const Buffer& buffer = arena_.buffers[b];
    if (buffer.category == MemoryCategory::gradients) return {between_ops_[b].first, between_ops_[b].first};
    return moved_[b] ? between_ops_[b] : Pass{buffer.first, buffer.last};
  }

  void find_passes() {
    part_at_.resize(static_cast<size_t>(arena_.length));
    op_at_.assign(static_cast<size_t>(arena_.length), no_id);
    visit_positions([&](int position, const Instruction& instruction) {
      op_at_[static_cast<size_t>(position)] = instruction.op;
      part_at_[static_cast<size_t>(position)] = std::max(0, parts_.of_op(instruction.op));
    });
    for (const TaskRun& run : program_.main().runs) {
      if (!run.is_first) continue;
      const Task& task = program_.tasks[static_cast<size_t>(run.task)];
      const Pass pass{run.folded_first, run.folded_first + task.size() - 1};
      if (task.phase == Phase::forward && task.name == "forward") forward_ = pass;
      if (task.phase == Phase::backward && backward_.first < 0) backward_ = pass;
    }
  }

  // Ops of several operands stay where they are listed; of one operand what is given may be cast earlier.
  void find_ops_between() {
    visit_positions([&](int position, const Instruction& instruction) {
      const Compute* compute = instruction.as<Compute>();
      if (!compute || compute->operands.size() < 2) return;
      const auto use = [&](size_t buffer) {
        Pass& life = between_ops_[buffer];
        if (life.first < 0) life.first = position;
        life.last = position;
      };
      visit_buffers(compute->operands, use);
      visit_buffers(compute->results, use);
    });
  }

  void find_moved() {
    for (const Task& task : program_.tasks) {
      for (const Instruction& instruction : task.instructions) {
        if (!instruction.as<Slice>() && !instruction.as<CollectiveStart>()) continue;
        const auto mark = [&](size_t buffer) { moved_[buffer] = true; };
        visit_buffers(instruction.operands(), mark);
        visit_buffers(instruction.destinations(), mark);
      }
    }
  }

  // `reader`: the first part that reads something.
  void read(int& reader, OpId op) const {
    const int part = std::max(0, parts_.of_op(op));
    if (reader < 0 || parts_.rank(part) < parts_.rank(reader)) reader = part;
  }

  // Per buffer the first part of which backward reads it.
  void find_readers() {
    for (const Task& task : program_.tasks) {
      if (task.phase != Phase::backward) continue;
      for (const Instruction& instruction : task.instructions) {
        visit_buffers(instruction.operands(), [&](size_t buffer) { read(reader_[buffer], instruction.op); });
      }
    }
  }

  // Likewise of which a gradient of a parameter is made. What is moved first is another value where backward is split.
  void find_readers_for_weights(const Graph& graph) {
    std::vector<bool> is_made(program_.values.size());
    for (const Task& task : program_.tasks) {
      for (const Instruction& instruction : task.instructions) {
        const Compute* compute = instruction.as<Compute>();
        if (!compute || instruction.op == no_id || of_weights_[instruction.op]) continue;
        if (graph.ops[instruction.op].phase == Phase::update) continue;
        for (int value : compute->results) is_made[static_cast<size_t>(value)] = true;
      }
    }
    for (const Task& task : program_.tasks) {
      if (task.phase != Phase::backward) continue;
      for (const Instruction& instruction : task.instructions) {
        const Compute* compute = instruction.as<Compute>();
        if (!compute || instruction.op == no_id || !of_weights_[instruction.op]) continue;
        for (int value : compute->operands) {
          const int buffer = arena_.buffer_of[static_cast<size_t>(value)];
          if (buffer >= 0 && is_made[static_cast<size_t>(value)])
            read(weights_reader_[static_cast<size_t>(buffer)], instruction.op);
        }
      }
    }
  }

  void add_rows() {
    rows_ = no_changes();
    for (size_t b = 0; b < arena_.buffers.size(); ++b) {
      const Buffer& buffer = arena_.buffers[b];
      add_life(rows_, b, backward_.has(buffer) ? life_within_pass(b) : Pass{buffer.first, buffer.last});
    }
    for (std::vector<double>& row : rows_) {
      double sum = 0;
      for (double& at : row) at = sum += at;
      memory_.constant.push_back(*std::min_element(row.begin() + std::max(0, forward_.first), row.begin() + end() + 1));
    }
  }

  int end() const { return backward_.last < 0 ? arena_.length - 1 : backward_.last; }

  // Of each part the position where most is in use, forward and behind.
  void add_positions(bool accumulates) {
    std::vector<double> totals(static_cast<size_t>(arena_.length));
    for (const std::vector<double>& row : rows_) {
      for (size_t q = 0; q < totals.size(); ++q) totals[q] += row[q];
    }
    std::map<std::pair<int, bool>, int> most;
    for (int q = 0; q < arena_.length; ++q) {
      if (op_at_[static_cast<size_t>(q)] == no_id) continue;
      const int part = part_at_[static_cast<size_t>(q)];
      if (q > end() || (accumulates && q > forward_.last && (part == parts_.kept() || part < parts_.kept() - 1)))
        continue;
      const auto [entry, is_new] = most.emplace(std::pair(part, q <= forward_.last), q);
      if (!is_new && totals[static_cast<size_t>(q)] > totals[static_cast<size_t>(entry->second)]) entry->second = q;
    }
    for (const auto& [of, q] : most) {
      LayerMemory::Position& position = memory_.positions.emplace_back();
      position.part = of.first;
      position.is_forward = of.second;
      for (const std::vector<double>& row : rows_) position.bytes.push_back(row[static_cast<size_t>(q)]);
    }
  }

  void add_between() {
    memory_.between = memory_.kept = memory_.parameters = memory_.optimizer = memory_.gradients = zeros();
    memory_.kept_for_weights = memory_.made_for_weights = zeros();
    for (size_t b = 0; b < arena_.buffers.size(); ++b) {
      const Buffer& buffer = arena_.buffers[b];
      if (backward_.first < 0 || buffer.last < backward_.first) continue;
      const auto bytes = static_cast<double>(buffer.bytes);
      const auto part = static_cast<size_t>(part_of_[b]);
      if (buffer.persistent && buffer.category == MemoryCategory::parameters) memory_.parameters[part] += bytes;
      if (buffer.persistent && buffer.category == MemoryCategory::optimizer) memory_.optimizer[part] += bytes;
      const bool adds_up = !buffer.persistent && buffer.category == MemoryCategory::gradients && buffer.first == 0;
      if (adds_up && part_of_[b] < parts_.kept()) memory_.gradients[part] += bytes;
      if (buffer.first < forward_.first || buffer.persistent) memory_.between[part] += bytes;
      else if (may_be_shared_[b]) continue;
      else if (forward_.has(buffer.first) && reader_[b] >= 0) {
        memory_.kept[static_cast<size_t>(reader_[b])] += bytes;
        if (weights_reader_[b] >= 0) memory_.kept_for_weights[static_cast<size_t>(reader_[b])] += bytes;
      } else if (backward_.has(buffer) && weights_reader_[b] >= 0 && buffer.category != MemoryCategory::gradients) {
        memory_.made_for_weights[static_cast<size_t>(weights_reader_[b])] += bytes;
      }
    }
  }

  // Buffers in use within one pass alone.
  void add_passing(const Pass& pass, std::vector<double>& most) {
    most = zeros();
    if (pass.first < 0) return;
    Changes changes = no_changes();
    for (size_t b = 0; b < arena_.buffers.size(); ++b) {
      const Buffer& buffer = arena_.buffers[b];
      if (buffer.persistent || may_be_shared_[b] || !pass.has(buffer)) continue;
      add_life(changes, b, life_within_pass(b));
    }
    for (size_t part = 0; part < changes.size(); ++part) {
      double sum = 0;
      for (int q = 0; q <= pass.last; ++q) {
        sum += changes[part][static_cast<size_t>(q)];
        const bool runs = pass.has(q) && op_at_[static_cast<size_t>(q)] != no_id;
        if (runs && part_at_[static_cast<size_t>(q)] == static_cast<int>(part)) most[part] = std::max(most[part], sum);
      }
    }
  }

  const Program& program_;
  const NetworkParts& parts_;
  ArenaLayout arena_;
  Pass forward_, backward_;
  std::vector<int> part_at_, part_of_, reader_, weights_reader_;  // by position; by buffer
  std::vector<bool> of_weights_;                                  // by op: it is for gradients of parameters alone
  std::vector<OpId> op_at_;
  std::vector<bool> may_be_shared_, moved_;  // by buffer
  std::vector<Pass> between_ops_;            // likewise
  std::vector<std::vector<double>> rows_;    // by part: bytes in use at each position
  LayerMemory memory_;
};

}  // namespace

LayerMemory memory_of_layers(const Program& program, const Graph& graph, const NetworkParts& parts, const Stack& stack,
                             int threads, bool accumulates, bool coarse) {
  return MemoryOfLayers(program, graph, parts, stack, threads, coarse).run(accumulates);
}

}  // namespace shardscope
