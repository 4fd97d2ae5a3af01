#include "engine/plan/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

constexpr int64_t alignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

class BufferAssignment {
 public:
  BufferAssignment(Program& program, const Graph& graph, const std::vector<ValueId>& gradients,
                   const std::vector<int>& kept)
      : program_(program), graph_(graph), last_step_(static_cast<int>(program.steps.size()) - 1) {
    last_use_.assign(program.values.size(), -1);
    made_.resize(program.values.size());
    for (int s = 0; s <= last_step_; ++s) {
      for (int value : program.steps[s].inputs) last_use_[value] = s;
      for (int value : program.steps[s].outputs) {
        last_use_[value] = std::max(last_use_[value], s);
        made_[value] = true;
      }
    }
    for (int value : kept) last_use_[value] = last_step_;
    gradients_.insert(gradients.begin(), gradients.end());
  }

  void run(int threads) {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (is_source(static_cast<int>(v))) allocate(static_cast<int>(v), 0, MemoryCategory::activations);
    }
    for (int s = 0; s <= last_step_; ++s) {
      Step& step = program_.steps[s];
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        int shared = reusable_operand(step, i, s);
        if (shared >= 0) {
          take_over(step.outputs[i], shared);
        } else {
          allocate(step.outputs[i], s,
                   step.kind == StepKind::compute ? MemoryCategory::activations : MemoryCategory::collectives);
        }
      }
      add_workspace(step, s, threads);
    }
  }

 private:
  // Values that are there before the first step: parameters, optimizer state, inputs, as they are stored.
  bool is_source(int id) const {
    return graph_.values[program_.values[id].graph_value].kind != ValueKind::result && !made_[id];
  }

  void allocate(int id, int step, MemoryCategory category) {
    ProgramValue& value = program_.values[id];
    const Value& origin = graph_.values[value.graph_value];
    Buffer buffer{value.name, category, value.bytes(), 0, step, last_use_[id], false};
    if (is_source(id)) {
      buffer.persistent = true;
      buffer.first = 0;
      buffer.last = last_step_;
      if (origin.kind == ValueKind::state) {
        const bool parameter = graph_.states[origin.state].trainable;
        buffer.category = parameter ? MemoryCategory::parameters : MemoryCategory::optimizer;
      }
    } else if (gradients_.count(value.graph_value)) {
      buffer.category = MemoryCategory::gradients;
    }
    value.buffer = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back(std::move(buffer));
  }

  // The operand whose buffer output i of the step may overwrite, or -1.
  int reusable_operand(const Step& step, size_t i, int s) const {
    int operand = -1;
    bool required = false;
    if (step.kind == StepKind::compute) {
      const OpDefinition& definition = *graph_.ops[step.op].definition;
      operand = definition.in_place_operand(static_cast<int>(i));
      required = definition.must_be_in_place();
    } else if (step.kind == StepKind::all_reduce) {
      operand = static_cast<int>(i);
    }
    if (operand < 0) return -1;
    int input = step.inputs[operand];
    if (required) return input;
    const Buffer& buffer = program_.buffers[program_.values[input].buffer];
    bool free = !buffer.persistent && buffer.last <= s && buffer.bytes == program_.values[step.outputs[i]].bytes();
    // Another operand in the same buffer would be read after it is overwritten.
    for (size_t j = 0; j < step.inputs.size(); ++j) {
      free &= static_cast<int>(j) == operand || program_.values[step.inputs[j]].buffer != program_.values[input].buffer;
    }
    return free ? input : -1;
  }

  void take_over(int id, int input) {
    ProgramValue& value = program_.values[id];
    value.buffer = program_.values[input].buffer;
    Buffer& buffer = program_.buffers[value.buffer];
    buffer.last = std::max(buffer.last, last_use_[id]);
  }

  void add_workspace(Step& step, int s, int threads) {
    if (step.kind != StepKind::compute) return;
    const Op& op = graph_.ops[step.op];
    auto types = [&](const std::vector<int>& ids) {
      std::vector<TensorType> list;
      for (int id : ids) list.push_back({program_.values[id].local_shape, program_.values[id].dtype});
      return list;
    };
    int64_t bytes = op.definition->workspace_bytes(op.attributes, types(step.inputs), types(step.outputs), threads);
    if (bytes == 0) return;
    step.workspace = static_cast<int>(program_.buffers.size());
    program_.buffers.push_back({"workspace of " + step.name, MemoryCategory::workspace, bytes, 0, s, s, false});
  }

  Program& program_;
  const Graph& graph_;
  int last_step_;
  std::vector<int> last_use_;
  std::set<ValueId> gradients_;
  std::vector<bool> made_;  // by a step
};

// Places buffers in the given order; returns the arena's size.
int64_t place(std::vector<Buffer>& buffers, const std::vector<int>& order) {
  std::vector<int> placed;  // by offset
  int64_t top = 0;
  for (int id : order) {
    Buffer& buffer = buffers[id];
    int64_t offset = 0, bytes = aligned(buffer.bytes);
    for (int other_id : placed) {
      const Buffer& other = buffers[other_id];
      if (other.last < buffer.first || buffer.last < other.first) continue;
      if (offset + bytes <= other.offset) break;
      offset = std::max(offset, other.offset + aligned(other.bytes));
    }
    buffer.offset = offset;
    top = std::max(top, offset + bytes);
    auto where = std::find_if(placed.begin(), placed.end(), [&](int other) { return buffers[other].offset > offset; });
    placed.insert(where, id);
  }
  return top;
}

}  // namespace

void plan_memory(Program& program, const Graph& graph, const std::vector<ValueId>& gradients,
                 const std::vector<int>& kept, int threads) {
  BufferAssignment(program, graph, gradients, kept).run(threads);
  std::vector<Buffer>& buffers = program.buffers;
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (buffers[a].persistent != buffers[b].persistent) return buffers[a].persistent;
    return buffers[a].bytes > buffers[b].bytes;
  });
  program.arena_bytes = place(buffers, order);
}

void total_memory(const Program& program, PlanTotals& totals) {
  size_t steps = program.steps.size();
  std::vector<int64_t> change(steps + 1);
  for (const Buffer& buffer : program.buffers) {
    change[buffer.first] += aligned(buffer.bytes);
    change[buffer.last + 1] -= aligned(buffer.bytes);
  }
  int64_t live = 0;
  int peak = 0;
  for (size_t s = 0; s < steps; ++s) {
    live += change[s];
    if (live > totals.live_lower_bound) totals.live_lower_bound = live, peak = static_cast<int>(s);
  }
  for (const Buffer& buffer : program.buffers) {
    if (buffer.first <= peak && peak <= buffer.last) {
      totals.memory[static_cast<int>(buffer.category)] += aligned(buffer.bytes);
    }
  }
  totals.memory_total = program.arena_bytes;
}

void verify_memory(const Program& program) {
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& a = program.buffers[i];
    auto fail = [&](const std::string& what) { throw Failure(Error{"invalid_memory_plan", what, a.name, ""}); };
    if (a.offset < 0 || a.offset + a.bytes > program.arena_bytes) fail("leaves the arena");
    for (size_t j = 0; j < i; ++j) {
      const Buffer& b = program.buffers[j];
      bool together = a.first <= b.last && b.first <= a.last;
      bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      if (together && overlap) fail("overlaps " + b.name);
    }
  }
}

}  // namespace shardscope
