#include "engine/plan/stack_memory.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/base/align.h"
#include "engine/graph/casts.h"
#include "engine/graph/op_definition.h"
#include "engine/plan/packing.h"
#include "engine/plan/value_lives.h"
#include "engine/shard/fused_chains.h"
#include "engine/shard/stack_types.h"

namespace shardscope {

namespace {

// What a stack sees in the program of a plan, alike on all stages.
struct StackView {
  StackView(const Program& of_program, const Graph& of_graph, const Stack& of_stack)
      : program(of_program),
        graph(of_graph),
        stack(of_stack),
        of_states(values_of_states(graph)),
        is_computed(program.values.size()) {
    types = StackTypes(graph, stack);
    if (stack.fusion.elementwise) chains.emplace(graph);
    for (const Task& task : program.tasks) {
      for (const Instruction& instruction : task.instructions) {
        if (!instruction.as<Compute>()) continue;
        for (int value : instruction.results()) is_computed[static_cast<size_t>(value)] = true;
      }
    }
    if (!chains) return;
    users.resize(graph.values.size());
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      if (types.is_no_work(graph, graph.ops[i])) continue;
      for (ValueId value : graph.ops[i].inputs)
        users[static_cast<size_t>(uncast(value))].push_back(static_cast<OpId>(i));
    }
  }

  // The value that a cast which is no work reads, or the value itself.
  ValueId uncast(ValueId value) const {
    for (OpId producer; (producer = graph.values[static_cast<size_t>(value)].producer) != no_id;) {
      const Op& op = graph.ops[static_cast<size_t>(producer)];
      if (!types.is_no_work(graph, op)) break;
      value = op.inputs.front();
    }
    return value;
  }

  const Program& program;
  const Graph& graph;
  const Stack& stack;
  StackTypes types;
  std::optional<FusedChains> chains;
  std::vector<bool> of_states;           // per graph value: made of states alone
  std::vector<bool> is_computed;         // per program value
  std::vector<std::vector<OpId>> users;  // per graph value, of it and its casts; with `chains`
};

// The arrays that a stack holds on a stage: those of the plan's buffers, of which an in-place op makes two, the second
// where the first ends.
class HeldArrays {
 public:
  // `any`: no more than where several microbatches are in flight.
  enum class InFlight : uint8_t { as_planned, any };
  HeldArrays(const StackView& view, const ArenaLayout& arena, int stage, InFlight in_flight = InFlight::as_planned)
      : program_(view.program),
        graph_(view.graph),
        stack_(view.stack),
        view_(view),
        arena_(arena),
        stage_(stage),
        in_flight_(in_flight),
        array_of_(arena_.buffer_of) {
    find_arrays();
  }

  ArenaLayout run() {
    for (Buffer& array : arrays_) narrow(array);
    each_task([&](const Task& task, int) {
      for (const Instruction& instruction : task.instructions) {
        if (!instruction.as<Compute>()) continue;
        join_views(instruction);
        keep_of_attention(instruction);
      }
    });
    if (stack_.memory.gathers_again) keep_parts();
    if (view_.chains) drop_recomputed();
    copy_logits();
    return {std::move(arrays_), std::move(array_of_), {}, 0, arena_.length};
  }

 private:
  // Calls `visit(task, first position)` with the tasks of the stage's training step.
  template <class Visit>
  void each_task(const Visit& visit) const {
    for (const TaskRun& run : program_.main(stage_).runs) {
      if (run.is_first) visit(program_.tasks[static_cast<size_t>(run.task)], run.folded_first);
    }
  }

  void find_arrays() {
    arrays_ = arena_.buffers;
    for (size_t b = 0; b < arrays_.size(); ++b) {
      Buffer& buffer = arrays_[b];
      const bool is_message =
          buffer.value >= 0 && arena_.buffer_of[static_cast<size_t>(buffer.value)] != static_cast<int>(b);
      if (is_message) buffer.bytes = 0;
    }
    const std::vector<ValueLife> lives = value_lives(program_, graph_, stage_);
    std::vector<int> made_in_place;
    for (size_t v = 0; v < array_of_.size(); ++v) {
      if (array_of_[v] < 0 || lives[v].last < 0) continue;
      const Buffer& buffer = array(static_cast<int>(v));
      if (!buffer.persistent && buffer.value != static_cast<int>(v)) made_in_place.push_back(static_cast<int>(v));
    }
    std::ranges::stable_sort(made_in_place, {}, [&](int value) { return lives[static_cast<size_t>(value)].first; });
    std::vector<int> newest(arrays_.size());
    std::iota(newest.begin(), newest.end(), 0);
    for (int value : made_in_place) {
      int& before = newest[static_cast<size_t>(arena_.buffer_of[static_cast<size_t>(value)])];
      const int first = lives[static_cast<size_t>(value)].first;
      if (first > arrays_[static_cast<size_t>(before)].first) {
        Buffer next = arrays_[static_cast<size_t>(before)];
        arrays_[static_cast<size_t>(before)].last = first - 1;
        next.value = value;
        next.first = first;
        if (next.category == MemoryCategory::collectives && view_.is_computed[static_cast<size_t>(value)])
          next.category = MemoryCategory::activations;
        before = static_cast<int>(arrays_.size());
        arrays_.push_back(next);
      }
      array_of_[static_cast<size_t>(value)] = before;
    }
  }

  Buffer& array(int value) { return arrays_[static_cast<size_t>(array_of_[static_cast<size_t>(value)])]; }
  ValueId graph_value(int value) const { return program_.values[static_cast<size_t>(value)].graph_value; }

  void narrow(Buffer& array) const {
    if (array.value < 0) return;
    array.bytes = static_cast<int64_t>(static_cast<double>(array.bytes) * view_.types.share(graph_value(array.value)));
  }

  // The cast of an array, and parts of one weight, are the array.
  void join_views(const Instruction& instruction) {
    const Op& op = graph_.ops[static_cast<size_t>(instruction.op)];
    const bool is_cast = view_.types.is_no_work(graph_, op);
    if (!is_cast && !is_view_of_weight(op)) return;
    for (int result : instruction.results()) {
      int& from = array_of_[static_cast<size_t>(instruction.operands()[0])];
      int& to = array_of_[static_cast<size_t>(result)];
      if (from < 0 || to < 0 || from == to) continue;
      Buffer &source = arrays_[static_cast<size_t>(from)], &view = arrays_[static_cast<size_t>(to)];
      if (source.slot_count > view.slot_count) std::swap(source.category, view.category);
      if (is_cast && view.slot_count > source.slot_count) {
        source.bytes = view.bytes;
        source.slot_count = view.slot_count;
      }
      source.first = std::min(source.first, view.first);
      source.last = std::max(source.last, view.last);
      view.bytes = 0;
      to = from;
    }
  }

  bool is_view_of_weight(const Op& op) const {
    return op.definition->is_view() && view_.of_states[static_cast<size_t>(op.inputs[0])];
  }

  // Of what forward gathers for itself and for backward.
  void keep_parts() {
    const std::vector<int> last_in_forward = last_uses_in_forward();
    each_task([&](const Task& task, int) {
      if (task.phase != Phase::forward) return;
      for (const Instruction& instruction : task.instructions) {
        const CollectiveStart* start = instruction.as<CollectiveStart>();
        if (!start || start->kind != InstructionKind::all_gather) continue;
        for (size_t i = 0; i < start->operands.size(); ++i)
          keep_part(start->operands[i], start->destinations[i], last_in_forward);
      }
    });
  }

  void keep_part(int part, int whole, const std::vector<int>& last_in_forward) {
    const int of_part = array_of_[static_cast<size_t>(part)], of_whole = array_of_[static_cast<size_t>(whole)];
    if (view_.of_states[static_cast<size_t>(graph_value(whole))] || of_part < 0 || of_whole < 0) return;
    Buffer &kept = arrays_[static_cast<size_t>(of_part)], &gathered = arrays_[static_cast<size_t>(of_whole)];
    const int end = last_in_forward[static_cast<size_t>(of_whole)];
    if (gathered.last <= end || kept.persistent) return;
    const int slots = std::max(kept.slot_count, gathered.slot_count);
    // Other microbatches keep theirs while the task that makes it runs.
    if (gathered.slot_count > 1) kept.first = std::min(kept.first, gathered.first);
    kept.last = std::max(kept.last, gathered.last);
    kept.bytes = kept.bytes / kept.slot_count * slots;
    kept.slot_count = slots;
    kept.category = MemoryCategory::activations;
    gathered.last = end;
    in_one_slot(gathered);
  }

  static void in_one_slot(Buffer& array) {
    array.bytes /= array.slot_count;
    array.slot_count = 1;
  }

  // Per array the last position in a task of forward that reads it, or -1.
  std::vector<int> last_uses_in_forward() const {
    std::vector<int> last(arrays_.size(), -1);
    each_task([&](const Task& task, int first) {
      for (int place = 0; task.phase == Phase::forward && place < task.size(); ++place) {
        for (int value : task.issued(place).operands()) {
          const int of_value = array_of_[static_cast<size_t>(value)];
          if (of_value < 0) continue;
          int& use = last[static_cast<size_t>(of_value)];
          use = std::max(use, first + place);
        }
      }
    });
    return last;
  }

  int end_of_forward() const {
    int end = -1;
    each_task([&](const Task& task, int first) {
      if (task.phase == Phase::forward) end = std::max(end, first + task.size() - 1);
    });
    return end;
  }

  // Scores and copies, with the sums of scores' rows, which backward needs as long.
  void keep_of_attention(const Instruction& instruction) {
    constexpr double bytes_of_score = 2;
    const bool keeps_scores = stack_.attention.kernel == AttentionKernel::scores;
    if (!keeps_scores && stack_.memory.attention_copies == 0) return;
    const Op& op = graph_.ops[static_cast<size_t>(instruction.op)];
    std::vector<TensorType> operands;
    local_types(program_.values, instruction.operands(), operands);
    const ScoreWork work = op.definition->scores(op.attributes, operands);
    if (work.scores == 0 || op.phase == Phase::backward || instruction.results().size() < 2) return;
    const int sums = instruction.results()[1];
    if (array_of_[static_cast<size_t>(sums)] < 0) return;
    const int query = instruction.operands()[0];
    const double query_bytes = static_cast<double>(program_.values[static_cast<size_t>(query)].bytes()) *
                               view_.types.share(graph_value(query));
    const double kept =
        (keeps_scores ? work.scores * bytes_of_score : 0) + query_bytes * stack_.memory.attention_copies;
    array(sums).bytes += static_cast<int64_t>(kept) * array(sums).slot_count;
  }

  // As long as the logits are there.
  void copy_logits() {
    for (size_t v = 0; v < array_of_.size(); ++v) {
      const ProgramValue& value = program_.values[v];
      if (array_of_[v] < 0 || value.dtype != DType::f32) continue;
      for (const auto& [name, output] : graph_.outputs) {
        if (value.graph_value != output || graph_.type(output).shape.empty()) continue;
        const bool is_split = value.local_shape.back() < value.shape.back();
        const StackMemory& memory = stack_.memory;
        double copies = is_split ? memory.split_logits_copies : memory.logits_copies;
        if (in_flight_ == InFlight::any) copies = std::min(memory.split_logits_copies, memory.logits_copies);
        add_copy(static_cast<int>(v), static_cast<int64_t>(static_cast<double>(value.bytes()) * copies));
      }
    }
  }

  // Of one microbatch, however many are in flight.
  void add_copy(int value, int64_t bytes) {
    if (in_flight_ == InFlight::as_planned) {
      array(value).bytes += bytes;
      return;
    }
    Buffer copy = array(value);
    copy.bytes = bytes;
    copy.slot_count = 1;
    const int end = end_of_forward(), last = copy.last;
    copy.last = std::min(last, end);
    if (copy.first <= end) arrays_.push_back(copy);
    copy.first = std::max(copy.first, end + 1);
    copy.last = last;
    if (last > end) arrays_.push_back(copy);
  }

  void drop_recomputed() {
    // Of several microbatches in flight what backward reads is held to the end of it.
    const int needed = in_flight_ == InFlight::any ? end_of_forward() + 1 : arena_.length;
    std::vector<int> of_graph_value(graph_.values.size(), -1);
    for (size_t v = 0; v < array_of_.size(); ++v) {
      if (array_of_[v] >= 0) of_graph_value[static_cast<size_t>(graph_value(static_cast<int>(v)))] = array_of_[v];
    }
    for (const Op& op : graph_.ops) {
      if (op.phase != Phase::forward || !view_.chains->is_in_chain(op) || op.outputs.size() != 1) continue;
      if (view_.types.is_no_work(graph_, op)) continue;
      const auto value = static_cast<size_t>(op.outputs[0]);
      const int of_value = of_graph_value[value];
      if (of_value < 0) continue;
      Buffer& result = arrays_[static_cast<size_t>(of_value)];
      if (result.persistent || result.value < 0) continue;
      const bool in_chains = std::ranges::all_of(view_.users[value], [&](OpId user) {
        const Op& by = graph_.ops[static_cast<size_t>(user)];
        return by.phase == Phase::forward || view_.chains->is_in_chain(by);
      });
      const bool operands_held = std::ranges::all_of(op.inputs, [&](ValueId operand) {
        const int of_operand = of_graph_value[static_cast<size_t>(view_.uncast(operand))];
        if (of_operand < 0 || of_operand == of_value) return false;
        const Buffer& held = arrays_[static_cast<size_t>(of_operand)];
        return held.bytes > 0 && held.last >= std::min(result.last, needed);
      });
      if (!in_chains || !operands_held) continue;
      result.last = result.first;
      in_one_slot(result);
    }
  }

  const Program& program_;
  const Graph& graph_;
  const Stack& stack_;
  const StackView& view_;
  const ArenaLayout& arena_;
  int stage_;
  InFlight in_flight_;
  std::vector<Buffer> arrays_;
  std::vector<int> array_of_;  // per program value, or -1
};

ArenaLayout arrays_of_stage(const StackView& view, const ArenaLayout& arena, int stage) {
  ArenaLayout arrays = HeldArrays(view, arena, stage).run();
  const std::vector<double> copies = gradient_copies(view.program, view.graph, view.stack.memory, stage);
  const auto bytes = static_cast<int64_t>(std::accumulate(copies.begin(), copies.end(), 0.0));
  if (bytes > 0) arrays.buffers.push_back({-1, MemoryCategory::gradients, bytes, 0, 0, arrays.length - 1, true});
  return arrays;
}

CategoryBytes at_peak(const ArenaLayout& arrays) {
  const LivePeak peak = live_peak(arrays.buffers, arrays.length);
  CategoryBytes categories{};
  for (const Buffer& array : arrays.buffers) {
    if (array.first > peak.position || peak.position > array.last) continue;
    categories[static_cast<size_t>(array.category)] += round_up(array.bytes);
  }
  return categories;
}

}  // namespace

std::vector<double> gradient_copies(const Program& program, const Graph& graph, const StackMemory& stack, int stage) {
  std::vector<double> bytes(program.values.size());
  for (size_t v = 0; v < bytes.size(); ++v) {
    const ProgramValue& value = program.values[v];
    const Value& of = graph.values[static_cast<size_t>(value.graph_value)];
    if (value.stage != stage || !is_source(value, graph) || of.kind != ValueKind::state) continue;
    if (!graph.states[static_cast<size_t>(of.state)].trainable) continue;
    bytes[v] = static_cast<double>(value.bytes()) / static_cast<double>(byte_size(value.dtype)) * stack.gradient_bytes;
  }
  return bytes;
}

ArenaLayout arrays_of_stack(const Program& program, const Graph& graph, const Stack& stack, const ArenaLayout& arena) {
  return HeldArrays(StackView(program, graph, stack), arena, 0, HeldArrays::InFlight::any).run();
}

void hold_as_stack(Plan& plan) {
  const StackMemory& stack = plan.stack.memory;
  const StackView view(plan.program, *plan.graph, plan.stack);
  for (size_t stage = 0; stage < plan.arenas.size(); ++stage) {
    PlanTotals& totals = plan.pipeline.totals[stage];
    totals.device_memory = at_peak(arrays_of_stage(view, plan.arenas[stage], static_cast<int>(stage)));
    const int64_t held = std::accumulate(totals.device_memory.begin(), totals.device_memory.end(), int64_t{0});
    totals.allocator_bytes =
        static_cast<int64_t>(static_cast<double>(held) * (stack.allocator - 1) + stack.fixed_bytes);
    totals.device_bytes = held + totals.allocator_bytes;
  }
  const PlanTotals& heaviest = std::ranges::max(plan.pipeline.totals, {}, &PlanTotals::device_bytes);
  plan.totals.device_memory = heaviest.device_memory;
  plan.totals.allocator_bytes = heaviest.allocator_bytes;
  plan.totals.device_bytes = heaviest.device_bytes;
}

ArenaLayout arrays_of_stack(const Plan& plan, int stage) {
  ArenaLayout arrays =
      arrays_of_stage(StackView(plan.program, *plan.graph, plan.stack), plan.arenas[static_cast<size_t>(stage)], stage);
  for (Buffer& array : arrays.buffers) array.bytes = round_up(array.bytes);
  arrays.bytes = plan.pipeline.totals[static_cast<size_t>(stage)].device_bytes;
  return arrays;
}

}  // namespace shardscope
