#include "engine/plan/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/graph/op_definition.h"
#include "engine/plan/packing.h"
#include "engine/plan/value_lives.h"

namespace shardscope {

namespace {

class BufferAssignment {
 public:
  BufferAssignment(const Program& program, const Graph& graph, int threads, int stage)
      : program_(program),
        graph_(graph),
        threads_(threads),
        stage_(stage),
        main_(program.main(stage)),
        lives_(value_lives(program, graph, stage)) {
    arena_.length = folded_length(main_);
    arena_.buffer_of.assign(program.values.size(), -1);
    for (const Task& task : program.tasks) arena_.workspace.tasks.emplace_back(task.instructions.size(), -1);
    find_stored();
    gradient_.resize(graph.values.size());
    for (const State& state : graph.states) {
      if (state.gradient != no_id) gradient_[state.gradient] = true;
    }
  }

  ArenaLayout run() {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const ProgramValue& value = program_.values[v];
      if (value.stage == stage_ && is_source(value, graph_)) allocate_source(static_cast<int>(v));
    }
    for (const TaskRun& run : main_.runs) {
      if (!run.is_first) continue;
      const Task& task = program_.tasks[run.task];
      for (int place = 0; place < task.size(); ++place) {
        place_results(task, place, run.folded_first + place);
        add_workspace(task.issued(place), {run.task, task.order.index(place)}, run.folded_first + place);
      }
    }
    place_initial_values();
    return std::move(arena_);
  }

 private:
  void allocate_source(int id) {
    const Value& value = graph_.values[program_.values[id].graph_value];
    MemoryCategory category = MemoryCategory::activations;
    if (value.kind == ValueKind::state) {
      const bool of_optimizer = graph_.states[value.state].is_of_optimizer();
      category = of_optimizer ? MemoryCategory::optimizer : MemoryCategory::parameters;
    }
    arena_.buffer_of[id] = static_cast<int>(arena_.buffers.size());
    const int count = lives_[id].slot_count;
    arena_.buffers.push_back(
        {id, category, slotted(program_.values[id].bytes(), count), 0, 0, arena_.length - 1, true, count});
  }

  static int64_t slotted(int64_t bytes, int count) { return count == 1 ? bytes : count * round_up(bytes); }

  void place_results(const Task& task, int place, int position) {
    const Instruction& instruction = task.issued(place);
    const std::span<const int> results = instruction.destinations();
    for (size_t i = 0; i < results.size(); ++i) {
      const int result = results[i];
      int& buffer = arena_.buffer_of[result];
      buffer = stored_buffer(result, instruction);
      if (buffer < 0) buffer = reusable_buffer(task, place, i, position);
      if (buffer >= 0) {
        arena_.buffers[buffer].last = std::max(arena_.buffers[buffer].last, lives_[result].last);
        continue;
      }
      const ProgramValue& value = program_.values[result];
      MemoryCategory category = gradient_[value.graph_value] ? MemoryCategory::gradients
                                : instruction.as<Compute>()  ? MemoryCategory::activations
                                                             : MemoryCategory::collectives;
      buffer = static_cast<int>(arena_.buffers.size());
      const ValueLife& life = lives_[result];
      const int64_t bytes = slotted(value.bytes(), life.slot_count);
      arena_.buffers.push_back({result, category, bytes, 0, life.first, life.last, false, life.slot_count});
    }
  }

  // What initialisation makes is where the state is stored.
  void place_initial_values() {
    for (const TaskRun& run : program_.find(Purpose::initialise, stage_)->runs) {
      for (const Instruction& instruction : program_.tasks[run.task].instructions) {
        for (int output : instruction.results()) {
          const ValueId initial = program_.values[output].graph_value;
          const int stored = stored_initially_[initial];
          if (stored < 0 || program_.values[stored].sharding != program_.values[output].sharding) {
            throw Failure(Error{"invalid_program", "initialisation makes what no state stores as it is laid out",
                                at_name(graph_.values[initial].name), ""});
          }
          arena_.buffer_of[output] = arena_.buffer_of[stored];
        }
      }
    }
  }

  // Which program value stores the state that a graph value is the first, or the new, value of.
  void find_stored() {
    std::vector<int> stored(graph_.values.size(), -1);
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (is_source(program_.values[v], graph_)) stored[program_.values[v].graph_value] = static_cast<int>(v);
    }
    stored_initially_.assign(graph_.values.size(), -1);
    stored_before_.assign(graph_.values.size(), -1);
    for (const State& state : graph_.states) {
      stored_initially_[state.initial] = stored[state.before];
      if (state.after != no_id) stored_before_[state.after] = stored[state.before];
    }
  }

  // Where a state is stored, if this is its new value as it is laid out there, brought back from where the update
  // worked.
  int stored_buffer(int result, const Instruction& instruction) const {
    const int stored = stored_before_[program_.values[result].graph_value];
    if (stored < 0 || instruction.as<Compute>()) return -1;
    return program_.values[stored].sharding == program_.values[result].sharding ? arena_.buffer_of[stored] : -1;
  }

  // The buffer of an operand that result i of the instruction may overwrite, or -1.
  int reusable_buffer(const Task& task, int place, size_t i, int position) const {
    const Instruction& instruction = task.issued(place);
    const std::span<const int> operands = instruction.operands();
    int operand = -1, end = place;
    if (instruction.as<Compute>()) {
      const OpDefinition& definition = *graph_.ops[instruction.op].definition;
      operand = definition.in_place_operand(static_cast<int>(i));
      if (operand >= 0 && definition.must_be_in_place()) return arena_.buffer_of[operands[operand]];
    } else if (instruction.kind() == InstructionKind::all_reduce) {
      operand = static_cast<int>(i);
      end = task.order.place(*done_index(task, task.order.index(place)));
    }
    const int result = instruction.destinations()[i];
    const ValueLife& life = lives_[result];
    if (operand < 0 || life.slot_count > 1 || life.first < position) return -1;
    const int shared = arena_.buffer_of[operands[operand]];
    const Buffer& buffer = arena_.buffers[shared];
    bool free = !buffer.persistent && buffer.last <= position + end - place &&
                buffer.bytes == program_.values[result].bytes() && !is_read_between(task, place, end, shared);
    // Another operand in the same buffer would be read after it is overwritten.
    for (size_t j = 0; j < operands.size(); ++j) {
      free &= static_cast<int>(j) == operand || arena_.buffer_of[operands[j]] != shared;
    }
    return free ? shared : -1;
  }

  // Whether anything but the collective that is open between these places reads the buffer meanwhile.
  bool is_read_between(const Task& task, int start, int end, int buffer) const {
    const auto reads = [&](const Instruction& instruction) {
      return std::ranges::any_of(instruction.operands(), [&](int value) { return arena_.buffer_of[value] == buffer; });
    };
    for (int place = start + 1; place < end; ++place) {
      const CollectiveDone* done = task.issued(place).as<CollectiveDone>();
      if (reads(done ? task.instructions[static_cast<size_t>(done->start)] : task.issued(place))) return true;
    }
    return false;
  }

  void add_workspace(const Instruction& instruction, InstructionId id, int position) {
    if (const Send* send = instruction.as<Send>()) {
      const int capacity = program_.channels[send->channel].capacity;
      const int64_t bytes = slotted(message_layout(program_, *send).bytes, capacity);
      arena_.workspace[id] = static_cast<int>(arena_.buffers.size());
      arena_.buffers.push_back(
          {send->operands[0], MemoryCategory::collectives, bytes, 0, 0, arena_.length - 1, false, capacity});
    }
    const Compute* compute = instruction.as<Compute>();
    if (!compute) return;
    const Op& op = graph_.ops[instruction.op];
    local_types(program_.values, compute->operands, operands_);
    local_types(program_.values, compute->results, results_);
    const int64_t bytes = op.definition->workspace_bytes(op.attributes, operands_, results_, threads_);
    if (bytes == 0) return;
    arena_.workspace[id] = static_cast<int>(arena_.buffers.size());
    arena_.buffers.push_back({-1, MemoryCategory::workspace, bytes, 0, position, position, false});
  }

  const Program& program_;
  const Graph& graph_;
  int threads_;
  int stage_;
  const Sequence& main_;
  std::vector<ValueLife> lives_;  // per program value
  ArenaLayout arena_;
  std::vector<bool> gradient_;
  std::vector<int> stored_initially_, stored_before_;  // per graph value: a program value, or -1
  std::vector<TensorType> operands_, results_;         // of the step at hand, on one device
};

}  // namespace

ArenaLayout assign_buffers(const Program& program, const Graph& graph, int threads, int stage) {
  return BufferAssignment(program, graph, threads, stage).run();
}

ArenaLayout plan_memory(const Program& program, const Graph& graph, int threads, int stage) {
  ArenaLayout arena = assign_buffers(program, graph, threads, stage);
  arena.bytes = pack(arena.buffers, arena.length);
  return arena;
}

ArenaLayout plan_memory_unpacked(const Program& program, const Graph& graph, int threads, int stage) {
  ArenaLayout arena = assign_buffers(program, graph, threads, stage);
  arena.bytes = live_peak(arena.buffers, arena.length).bytes;
  return arena;
}

MemoryPeak memory_peak(const ArenaLayout& arena) {
  const LivePeak live = live_peak(arena.buffers, arena.length);
  MemoryPeak peak{{}, live.bytes};
  for (const Buffer& buffer : arena.buffers) {
    if (buffer.first > live.position || live.position > buffer.last) continue;
    peak.categories[static_cast<int>(buffer.category)] += round_up(buffer.bytes);
  }
  return peak;
}

}  // namespace shardscope
