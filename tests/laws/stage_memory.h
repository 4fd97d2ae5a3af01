#pragma once

#include <QTest>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/plan/plan.h"

namespace shardscope::test {

// Runs the sequences of a stage over its arena in thought, and finds a step that reads what another microbatch, or
// something else, has written over.
class StageMemory {
 public:
  StageMemory(const Plan& plan, int stage) : plan_(plan), stage_(stage) {
    for (int id = 0; id < static_cast<int>(plan.program.values.size()); ++id) {
      const ProgramValue& value = plan.program.values[id];
      if (value.stage != stage || plan.arenas[stage].buffer_of[id] < 0) continue;
      for (int slot = 0; slot < plan.buffer(id).slot_count; ++slot) {
        const int64_t offset = plan.buffer(id).slot_offset(slot);
        instances_.push_back({id, slot, offset, offset + value.bytes(), never});
      }
    }
  }

  // Empty where all is well.
  std::string fault(Purpose purpose) {
    const Sequence* sequence = plan_.program.find(purpose, stage_);
    for (Instance& one : instances_) one.microbatch = is_state(one.value) ? always : never;
    int begun = -1;
    for (const TaskRun& run : sequence->runs) {
      if (run.microbatch > begun) fill_inputs(begun = run.microbatch);
      const bool once = count(*sequence, run.task) == 1;
      const Task& task = plan_.program.tasks[run.task];
      for (int place = 0; place < task.size(); ++place) {
        const CollectiveDone* done = task.issued(place).as<CollectiveDone>();
        const Instruction& instruction = done ? task.instructions[done->start] : task.issued(place);
        for (int input : instruction.operands()) {
          const int held = find(input, run.microbatch).microbatch;
          if (done && is_in_place(instruction, input)) continue;
          if (held == always || held == run.microbatch || (once && held != never)) continue;
          return plan_.instruction_name(instruction) + " reads " + plan_.value_name(input) + " of microbatch " +
                 std::to_string(held) + " in " + std::to_string(run.microbatch);
        }
        for (int output : instruction.destinations()) {
          if (!done) write(output, run.microbatch, once);
          else if (find(output, run.microbatch).microbatch == never)
            return plan_.instruction_name(instruction) + " is written over before it is done";
        }
      }
    }
    return "";
  }

 private:
  static constexpr int never = -1, always = -2;
  struct Instance {
    int value, slot;
    int64_t begin, end;
    int microbatch;
  };

  bool is_in_place(const Instruction& instruction, int operand) const {
    return std::ranges::any_of(instruction.destinations(),
                               [&](int output) { return &plan_.buffer(output) == &plan_.buffer(operand); });
  }

  static long count(const Sequence& sequence, int task) {
    return std::ranges::count(sequence.runs, task, &TaskRun::task);
  }

  Instance& find(int value, int microbatch) {
    const int slot = microbatch % plan_.buffer(value).slot_count;
    return *std::ranges::find_if(instances_,
                                 [&](const Instance& one) { return one.value == value && one.slot == slot; });
  }

  void write(int value, int microbatch, bool once) {
    Instance& made = find(value, microbatch);
    const bool adds_up = is_accumulator(value);
    for (Instance& other : instances_) {
      const bool apart = other.end <= made.begin || made.end <= other.begin;
      if (!apart && &other != &made) other.microbatch = never;
    }
    made.microbatch = once || adds_up || plan_.pipeline.shape.microbatches == 1 ? always : microbatch;
  }

  bool is_state(int id) const {
    const ProgramValue& value = plan_.program.values[id];
    return is_source(value, *plan_.graph) && plan_.graph->values[value.graph_value].kind == ValueKind::state;
  }

  bool is_accumulator(int value) const {
    const OpId producer = plan_.graph->values[plan_.program.values[value].graph_value].producer;
    return producer != no_id && plan_.graph->ops[producer].definition->accumulates();
  }

  void fill_inputs(int microbatch) {
    for (int input : plan_.input_values[stage_]) {
      if (input >= 0) write(input, microbatch, false);
    }
  }

  const Plan& plan_;
  int stage_;
  std::vector<Instance> instances_;
};

inline void check_stage_memory(const Plan& plan) {
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    StageMemory memory(plan, stage);
    for (Purpose purpose : {Purpose::train_step, Purpose::evaluate, Purpose::train_step}) {
      QCOMPARE(QString::fromStdString(memory.fault(purpose)), QString());
    }
  }
}

}  // namespace shardscope::test
