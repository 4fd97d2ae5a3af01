#include "engine/export/plan_words.h"
#include "engine/export/table_pages.h"
#include "engine/graph/op_definition.h"
#include "engine/plan/hidden_transfers.h"

namespace shardscope {

namespace {

double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

class Rows {
 public:
  Rows(const Plan& plan, TableWriter& table, double lanes) : plan_(plan), table_(table), lanes_(lanes) {
    for (const Task& task : plan.program.tasks) {
      std::vector<std::string>& names = names_.tasks.emplace_back();
      std::vector<Work>& works = works_.tasks.emplace_back();
      for (const Instruction& instruction : task.instructions) {
        names.push_back(plan.instruction_name(instruction));
        works.push_back(work_of(instruction));
      }
    }
  }

  // `rank` is empty for what is predicted: all devices of the stage are alike. `times` by position.
  void add(const std::string& rank, int stage, const std::vector<PlanStepTime>& times) {
    for (const TaskRun& run : plan_.program.main(stage).runs) {
      const Task& task = plan_.program.tasks[static_cast<size_t>(run.task)];
      table_.progress(done_ + run.first / static_cast<double>(times.size()), lanes_);
      for (int place = 0; place < task.size(); ++place) {
        const int index = task.order.index(place), position = run.first + place;
        const PlanStepTime& time = times[static_cast<size_t>(position)];
        write(rank.empty() ? "predicted" : "measured", stage, rank, position, run.microbatch, {run.task, index},
              seconds(time.arrive_ns), seconds(time.start_ns), seconds(time.end_ns));
      }
    }
    ++done_;
  }

  // Transfers that the stack hides behind passes, where they are drawn.
  void add_hidden(int stage) {
    const SequenceInstructions instructions = plan_.instructions(stage);
    for (const HiddenTransfer& transfer : transfers_behind_passes(plan_, stage))
      write("hidden", stage, "", transfer.position, 0, instructions.id(transfer.position), transfer.span.start,
            transfer.span.start, transfer.span.end);
  }

 private:
  struct Work {
    std::string_view name, kind;  // the operator's, of what computes
  };

  void write(const char* source, int stage, const std::string& rank, int position, int microbatch, InstructionId id,
             double arrive, double start, double end) {
    const Task& task = plan_.program.tasks[static_cast<size_t>(id.task)];
    const Instruction& instruction = task.instructions[static_cast<size_t>(id.index)];
    const Work& work = works_[id];
    table_.row(source, stage, rank, position, microbatch, task.name, name(instruction.phase), name(instruction.kind()),
               work.name, work.kind, names_[id], arrive, start, end);
  }

  Work work_of(const Instruction& instruction) const {
    const InstructionKind kind = instruction.kind();
    if (kind == InstructionKind::slice) return {"", "data movement"};
    if (kind != InstructionKind::compute || instruction.op == no_id) return {"", name(kind)};
    const OpDefinition& definition = *plan_.graph->ops[instruction.op].definition;
    return {definition.name(), definition.work_kind()};
  }

  const Plan& plan_;
  TableWriter& table_;
  double lanes_, done_ = 0;
  InstructionTable<std::string> names_;
  InstructionTable<Work> works_;
};

// Each instruction at each position of the main sequence: when it begins and ends, predicted for each stage, and
// measured for each rank where a training step was recorded; and transfers that the stack hides behind passes, whose
// source is "hidden" (their exposed rest is predicted). Seconds from the beginning of the training step.
void write_timeline_table(const ExportSource& source, const ExportChoice& choice, TableWriter& table) {
  const Plan& plan = *source.plan;
  table.headings({"source", "stage", "rank", "position", "microbatch", "task", "phase", "kind", "operator", "work",
                  "step", "arrive_seconds", "start_seconds", "end_seconds"});
  const TraceMessage* trace = trace_of(source, choice.trace);
  Rows rows(plan, table, plan.program.stages + static_cast<double>(trace ? trace->ranks.size() : 0));
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    rows.add("", stage, predicted_times(plan, stage));
    rows.add_hidden(stage);
  }
  for (int rank = 0; trace && rank < static_cast<int>(trace->ranks.size()); ++rank)
    rows.add(std::to_string(rank), plan.stage_of(rank), trace->ranks[static_cast<size_t>(rank)]);
}

}  // namespace

TablePage timeline_table() { return {"timeline", write_timeline_table, true}; }

}  // namespace shardscope
