#include "engine/plan/stack_memory.h"

#include <algorithm>
#include <optional>

#include "engine/base/align.h"
#include "engine/graph/op_definition.h"
#include "engine/plan/packing.h"
#include "engine/shard/fused_chains.h"
#include "engine/shard/stack_types.h"

namespace shardscope {

namespace {

class HeldBuffers {
 public:
  HeldBuffers(const Plan& plan, const ArenaLayout& arena, int stage)
      : plan_(plan), graph_(*plan.graph), arena_(arena), stage_(stage), buffers_(arena.buffers) {
    if (plan.stack.memory.narrow_activations) types_ = StackTypes(graph_);
    if (plan.stack.fusion.elementwise) chains_.emplace(graph_);
  }

  CategoryBytes run() {
    for (size_t b = 0; b < buffers_.size(); ++b) narrow(b);
    for (const Task& task : plan_.program.tasks) {
      for (const Instruction& instruction : task.instructions) {
        if (!instruction.as<Compute>()) continue;
        join_cast(instruction);
        if (plan_.stack.attention.kernel == AttentionKernel::scores) keep_scores(instruction);
      }
    }
    if (chains_) drop_recomputed();
    copy_logits();
    const LivePeak peak = live_peak(buffers_, arena_.length);
    CategoryBytes categories{};
    for (const Buffer& buffer : buffers_) {
      if (buffer.first > peak.position || peak.position > buffer.last) continue;
      categories[static_cast<size_t>(buffer.category)] += round_up(buffer.bytes);
    }
    categories[static_cast<size_t>(MemoryCategory::gradients)] += copies_of_gradients();
    return categories;
  }

 private:
  int buffer_of(int value) const { return arena_.buffer_of[static_cast<size_t>(value)]; }
  Buffer& at(int buffer) { return buffers_[static_cast<size_t>(buffer)]; }
  ValueId graph_value(int value) const { return plan_.program.values[static_cast<size_t>(value)].graph_value; }

  void narrow(size_t b) {
    Buffer& buffer = buffers_[b];
    if (buffer.value < 0) return;
    const bool is_message = buffer_of(buffer.value) != static_cast<int>(b);
    if (is_message) {
      buffer.bytes = 0;
    } else {
      buffer.bytes = static_cast<int64_t>(static_cast<double>(buffer.bytes) * types_.share(graph_value(buffer.value)));
    }
  }

  void join_cast(const Instruction& instruction) {
    const Op& op = graph_.ops[static_cast<size_t>(instruction.op)];
    if (!types_.is_no_work(graph_, op)) return;
    const int from = buffer_of(instruction.operands()[0]), to = buffer_of(instruction.results()[0]);
    if (from < 0 || to < 0 || from == to) return;
    Buffer &source = at(from), &cast = at(to);
    if (source.slot_count > cast.slot_count) std::swap(source.category, cast.category);
    if (cast.slot_count > source.slot_count) {
      source.bytes = cast.bytes;
      source.slot_count = cast.slot_count;
    }
    source.first = std::min(source.first, cast.first);
    source.last = std::max(source.last, cast.last);
    cast.bytes = 0;
  }

  // With the sums of their rows, which backward needs as long.
  void keep_scores(const Instruction& instruction) {
    constexpr double bytes_of_score = 2;
    const Op& op = graph_.ops[static_cast<size_t>(instruction.op)];
    std::vector<TensorType> operands;
    local_types(plan_.program.values, instruction.operands(), operands);
    const ScoreWork work = op.definition->scores(op.attributes, operands);
    if (work.scores == 0 || op.phase == Phase::backward || instruction.results().size() < 2) return;
    const int sums = buffer_of(instruction.results()[1]);
    if (sums < 0) return;
    at(sums).bytes += static_cast<int64_t>(work.scores * bytes_of_score) * at(sums).slot_count;
  }

  // As long as the logits are there.
  void copy_logits() {
    for (size_t v = 0; v < arena_.buffer_of.size(); ++v) {
      const ProgramValue& value = plan_.program.values[v];
      if (arena_.buffer_of[v] < 0 || value.dtype != DType::f32) continue;
      for (const auto& [name, output] : graph_.outputs) {
        if (value.graph_value != output || graph_.type(output).shape.empty()) continue;
        at(arena_.buffer_of[v]).bytes +=
            static_cast<int64_t>(static_cast<double>(value.bytes()) * plan_.stack.memory.logits_copies);
      }
    }
  }

  int64_t copies_of_gradients() const {
    double elements = 0;
    for (const ProgramValue& value : plan_.program.values) {
      const Value& of = graph_.values[static_cast<size_t>(value.graph_value)];
      if (value.stage != stage_ || !is_source(value, graph_) || of.kind != ValueKind::state) continue;
      if (!graph_.states[static_cast<size_t>(of.state)].trainable) continue;
      elements += static_cast<double>(value.bytes()) / static_cast<double>(byte_size(value.dtype));
    }
    return static_cast<int64_t>(elements * plan_.stack.memory.gradient_bytes);
  }

  // The value that a cast which is no work reads, or the value itself.
  ValueId uncast(ValueId value) const {
    for (OpId producer; (producer = graph_.values[static_cast<size_t>(value)].producer) != no_id;) {
      const Op& op = graph_.ops[static_cast<size_t>(producer)];
      if (!types_.is_no_work(graph_, op)) break;
      value = op.inputs.front();
    }
    return value;
  }

  void drop_recomputed() {
    std::vector<std::vector<OpId>> users(graph_.values.size());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (types_.is_no_work(graph_, graph_.ops[i])) continue;
      for (ValueId value : graph_.ops[i].inputs)
        users[static_cast<size_t>(uncast(value))].push_back(static_cast<OpId>(i));
    }
    std::vector<int> of_graph_value(graph_.values.size(), -1);
    for (size_t v = 0; v < arena_.buffer_of.size(); ++v) {
      if (arena_.buffer_of[v] >= 0)
        of_graph_value[static_cast<size_t>(graph_value(static_cast<int>(v)))] = arena_.buffer_of[v];
    }
    for (const Op& op : graph_.ops) {
      if (op.phase != Phase::forward || !chains_->is_in_chain(op) || op.outputs.size() != 1) continue;
      if (types_.is_no_work(graph_, op)) continue;
      const auto value = static_cast<size_t>(op.outputs[0]);
      const int buffer = of_graph_value[value];
      if (buffer < 0 || at(buffer).persistent || at(buffer).value < 0) continue;
      const bool in_chains = std::ranges::all_of(users[value], [&](OpId user) {
        const Op& by = graph_.ops[static_cast<size_t>(user)];
        return by.phase == Phase::forward || chains_->is_in_chain(by);
      });
      const bool operands_held = std::ranges::all_of(op.inputs, [&](ValueId operand) {
        const int held = of_graph_value[static_cast<size_t>(uncast(operand))];
        return held >= 0 && held != buffer && at(held).bytes > 0 && at(held).last >= at(buffer).last;
      });
      if (!in_chains || !operands_held) continue;
      at(buffer).bytes /= at(buffer).slot_count;
      at(buffer).slot_count = 1;
      at(buffer).last = at(buffer).first;
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  const ArenaLayout& arena_;
  int stage_;
  std::vector<Buffer> buffers_;
  StackTypes types_;
  std::optional<FusedChains> chains_;
};

}  // namespace

CategoryBytes held_by_stack(const Plan& plan, const ArenaLayout& arena, int stage) {
  return HeldBuffers(plan, arena, stage).run();
}

}  // namespace shardscope
