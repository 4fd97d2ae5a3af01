#include "engine/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "engine/base/error.h"
#include "engine/graph/op_definition.h"
#include "engine/program/dependencies.h"
#include "engine/program/program_text.h"

namespace shardscope {

namespace {

class Verification {
 public:
  Verification(const Program& program, const Graph& graph, const Mesh& mesh)
      : program_(program), graph_(graph), mesh_(mesh), text_{program, graph, mesh} {}

  void run() const {
    for (size_t v = 0; v < program_.values.size(); ++v) layout(static_cast<int>(v));
    for (const Task& task : program_.tasks) {
      for (const Instruction& instruction : task.instructions) {
        group(instruction);
        stage(task, instruction);
        moved(instruction);
        partial_sums(instruction);
      }
      collectives(task);
      tickets(task);
    }
    channels();
    for (const Sequence& sequence : program_.sequences) order(sequence);
    issue_orders();
  }

 private:
  static void fail(const std::string& what, std::string where) {
    throw Failure(Error{"invalid_program", what, at_name(std::move(where)), ""});
  }

  void layout(int id) const {
    const ProgramValue& value = program_.values[id];
    bool agrees = divides(value.sharding, mesh_, value.shape) && value.local_shape.size() == value.shape.size();
    for (size_t d = 0; agrees && d < value.shape.size(); ++d) {
      agrees = value.local_shape[d] * shard_count(value.sharding, mesh_, static_cast<int>(d)) == value.shape[d];
    }
    if (!agrees) fail("local shape disagrees with the sharding", text_.value(id));
  }

  void group(const Instruction& instruction) const {
    if (is_collective(instruction.kind()) &&
        std::ranges::find(program_.groups, instruction.axes()) == program_.groups.end()) {
      fail("its group is not among the program's", text_.instruction(instruction));
    }
  }

  void stage(const Task& task, const Instruction& instruction) const {
    for (const std::span<const int> values : {instruction.operands(), instruction.results()}) {
      for (int value : values) {
        if (program_.values[value].stage != task.stage) {
          fail(fmt::format("{} is not on its stage {}", text_.value(value), task.stage),
               text_.instruction(instruction));
        }
      }
    }
  }

  void moved(const Instruction& instruction) const {
    const size_t arrays = instruction.moved().size();
    if (arrays > instruction.operands().size() || arrays > instruction.destinations().size())
      fail("it says why more arrays are moved than it has", text_.instruction(instruction));
  }

  // A start has one done, which defines what it writes.
  void collectives(const Task& task) const {
    std::vector<bool> done(task.instructions.size());
    for (int i = 0; i < task.size(); ++i) {
      const Instruction& instruction = task.instructions[static_cast<size_t>(i)];
      const CollectiveDone* end = instruction.as<CollectiveDone>();
      if (!end) continue;
      const CollectiveStart* start = end->start >= 0 && end->start < i
                                         ? task.instructions[static_cast<size_t>(end->start)].as<CollectiveStart>()
                                         : nullptr;
      if (!start || start->destinations != end->results || start->kind != end->collective)
        fail("it is not the done of a collective before it", text_.instruction(instruction));
      if (done[static_cast<size_t>(end->start)]) fail("its collective is done twice", text_.instruction(instruction));
      done[static_cast<size_t>(end->start)] = true;
    }
    for (int i = 0; i < task.size(); ++i) {
      const Instruction& instruction = task.instructions[static_cast<size_t>(i)];
      if (instruction.as<CollectiveStart>() && !done[static_cast<size_t>(i)])
        fail("the collective is never done", text_.instruction(instruction));
    }
  }

  // As a Communicator takes them: those of a group are done in the order of their starts, few of them open at a time.
  void tickets(const Task& task) const {
    if (!task.order.is_as_listed() && task.order.size() != task.instructions.size())
      fail("the order is of another number of instructions", task.name);
    std::vector<std::deque<int>> open(program_.groups.size());
    const auto group_of = [&](const Instruction& start) {
      return std::ranges::find(program_.groups, start.axes()) - program_.groups.begin();
    };
    for (int place = 0; place < task.size(); ++place) {
      const Instruction& instruction = task.issued(place);
      if (instruction.as<CollectiveStart>()) {
        std::deque<int>& own = open[group_of(instruction)];
        own.push_back(task.order.index(place));
        if (own.size() > most_open_collectives)
          fail("more collectives of its group are open than may be", text_.instruction(instruction));
      } else if (const CollectiveDone* done = instruction.as<CollectiveDone>()) {
        std::deque<int>& own = open[group_of(task.instructions[static_cast<size_t>(done->start)])];
        if (own.empty() || own.front() != done->start)
          fail("it is not the oldest open collective of its group", text_.instruction(instruction));
        own.pop_front();
      }
    }
  }

  void issue_orders() const {
    Dependencies dependencies(program_, graph_);
    for (int t = 0; t < static_cast<int>(program_.tasks.size()); ++t) {
      const Task& task = program_.tasks[static_cast<size_t>(t)];
      for (const auto& [before, behind, kind] : dependencies.of(t)) {
        if (task.order.place(before) < task.order.place(behind)) continue;
        fail(fmt::format("it is issued before '{}', which it depends on ({})",
                         text_.instruction(task.instructions[static_cast<size_t>(before)]), name(kind)),
             text_.instruction(task.instructions[static_cast<size_t>(behind)]));
      }
    }
  }

  void channels() const {
    std::vector<const Instruction*> sends(program_.channels.size()), receives(program_.channels.size());
    for (const Task& task : program_.tasks) {
      for (const Instruction& instruction : task.instructions) {
        if (!is_transfer(instruction.kind())) continue;
        const bool sends_it = instruction.kind() == InstructionKind::send;
        const StageChannel& channel = program_.channels.at(instruction.channel());
        if ((sends_it ? channel.from : channel.to) != task.stage)
          fail("its channel ends elsewhere", text_.instruction(instruction));
        const Instruction*& end = (sends_it ? sends : receives)[instruction.channel()];
        if (end) fail("its channel has two such ends", text_.instruction(instruction));
        end = &instruction;
      }
    }
    for (size_t i = 0; i < sends.size(); ++i) {
      const auto like = [&](int a, int b) {
        const ProgramValue &from = program_.values[a], &to = program_.values[b];
        return from.graph_value == to.graph_value && from.sharding == to.sharding;
      };
      if (!sends[i] || !receives[i] || !std::ranges::equal(sends[i]->operands(), receives[i]->results(), like)) {
        fail("what is sent is not what is received", fmt::format("channel {}", i));
      }
    }
  }

  void partial_sums(const Instruction& instruction) const {
    if (instruction.kind() != InstructionKind::compute) return;
    uint8_t partial = instruction.operands().empty() ? 0 : program_.values[instruction.operands()[0]].sharding.partial;
    bool any = false, sums = true;
    for (int input : instruction.operands()) {
      const Sharding& sharding = program_.values[input].sharding;
      if (sharding.partial != partial)
        fail("some operands are partial and some are not", text_.instruction(instruction));
      any |= sharding.partial != 0;
      sums &= sharding.reduction == Reduction::sum;
    }
    if (any && !(sums && graph_.rule(instruction.op).linear)) {
      fail(sums ? "an operand is a partial sum, and the op is not linear" : "an operand is a partial maximum",
           text_.instruction(instruction));
    }
  }

  // By program value: the last run that adds to it, of values that add up over the microbatches; else -1.
  std::vector<int> last_additions(const Sequence& sequence) const {
    std::vector<int> last(program_.values.size(), -1), last_of_task(program_.tasks.size(), -1);
    for (size_t run = 0; run < sequence.runs.size(); ++run)
      last_of_task[sequence.runs[run].task] = static_cast<int>(run);
    for (size_t t = 0; t < last_of_task.size(); ++t) {
      if (last_of_task[t] < 0) continue;
      for (const Instruction& instruction : program_.tasks[t].instructions) {
        if (!accumulates(instruction, graph_)) continue;
        for (int output : instruction.results()) last[output] = std::max(last[output], last_of_task[t]);
      }
    }
    return last;
  }

  void order(const Sequence& sequence) const {
    const std::vector<int> last_addition = last_additions(sequence);
    std::vector<bool> defined(program_.values.size());
    for (size_t v = 0; v < defined.size(); ++v) {
      const ProgramValue& value = program_.values[v];
      defined[v] = is_source(value, graph_) && value.sharding.partial == 0 && value.stage == sequence.stage;
    }
    for (int r = 0; r < static_cast<int>(sequence.runs.size()); ++r) {
      const Task& task = program_.tasks[sequence.runs[static_cast<size_t>(r)].task];
      std::vector<bool> named(program_.values.size());
      for (int input : task.inputs) {
        named[input] = true;
        if (!defined[input]) fail(fmt::format("input {} is not made before it", text_.value(input)), task.name);
      }
      for (int place = 0; place < task.size(); ++place) {
        const Instruction& instruction = task.issued(place);
        for (int input : instruction.operands()) {
          if (!named[input]) {
            fail(fmt::format("operand {} is used before it is defined", text_.value(input)),
                 text_.instruction(instruction));
          }
          if (last_addition[input] > r) {
            fail(fmt::format("operand {} is read before the last microbatch is added to it", text_.value(input)),
                 text_.instruction(instruction));
          }
        }
        for (int output : instruction.results()) defined[output] = named[output] = true;
      }
      for (int output : task.outputs) {
        if (!named[output]) fail(fmt::format("output {} is never made", text_.value(output)), task.name);
      }
    }
  }

  const Program& program_;
  const Graph& graph_;
  const Mesh& mesh_;
  ProgramText text_;
};

}  // namespace

const Sequence* Program::find(Purpose purpose, int stage) const {
  const auto serves = [&](const Sequence& one) { return one.purpose == purpose && one.stage == stage; };
  const auto found = std::ranges::find_if(sequences, serves);
  return found == sequences.end() ? nullptr : &*found;
}

const Sequence& Program::main(int stage) const {
  const Sequence* training = find(Purpose::train_step, stage);
  const Sequence* sequence = training ? training : find(Purpose::evaluate, stage);
  if (!sequence) throw Failure(Error{"invalid_program", "it neither trains nor evaluates", "", ""});
  return *sequence;
}

bool is_source(const ProgramValue& value, const Graph& graph) {
  return !value.moved && value.graph_value != no_id && graph.values[value.graph_value].kind != ValueKind::result;
}

bool accumulates(const Instruction& instruction, const Graph& graph) {
  return instruction.as<Compute>() && instruction.op != no_id && graph.ops[instruction.op].definition->accumulates();
}

void verify(const Program& program, const Graph& graph, const Mesh& mesh) { Verification(program, graph, mesh).run(); }

}  // namespace shardscope
