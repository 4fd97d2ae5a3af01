#pragma once

#include <cstddef>
#include <vector>

#include "engine/mesh/mesh.h"
#include "engine/program/program_value.h"
#include "engine/program/sequence.h"

namespace shardscope {

// From each device of a stage to the device at its place in another. Messages are those of one send, in order.
struct StageChannel {
  int from = 0, to = 0;  // stages
  int64_t bytes = 0;     // of a message
  int capacity = 1;      // so many messages may be on their way
};

// What every device does: tasks, and for each purpose the sequence in which they run; for each stage of a pipeline.
struct Program {
  int stages = 1;
  std::vector<ProgramValue> values;
  // Groups of ranks that collectives run over, major axis first: made by every rank before anything else, in this
  // order.
  std::vector<AxisList> groups;
  std::vector<StageChannel> channels;  // likewise
  std::vector<Task> tasks;
  std::vector<Sequence> sequences;

  // Null where the program does not serve the purpose.
  const Sequence* find(Purpose purpose, int stage = 0) const;
  // A training step; or evaluating, where the program does not train. Throws Failure when it has neither.
  const Sequence& main(int stage = 0) const;
  SequenceInstructions instructions(const Sequence& sequence) const { return {tasks, sequence}; }
  SequenceInstructions main_instructions(int stage = 0) const { return instructions(main(stage)); }
};

// There before any task runs: a parameter, a state, an input, as it is stored.
bool is_source(const ProgramValue& value, const Graph& graph);

// Its result adds up over the microbatches of a step.
bool accumulates(const Instruction& instruction, const Graph& graph);

// So many collectives of a group may be started and not done, as Communicator::max_open_tickets.
inline constexpr size_t most_open_collectives = 16;

// Throws Failure where a sequence uses a value before it is made, or a sum over microbatches before its last term;
// where local shapes disagree with shardings, a collective's group is not listed, a task's inputs or outputs are not
// those that it names, an instruction uses what another stage holds or says why more arrays are moved than it has, the
// ends of a channel disagree, a partial sum reaches an op that is not linear in it, a start has no done, the order of a
// task breaks a dependency (dependencies.h), or collectives of a group are too many at a time or done in another order
// than started.
void verify(const Program& program, const Graph& graph, const Mesh& mesh);

}  // namespace shardscope
