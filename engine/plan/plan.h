#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/machine/machine.h"
#include "engine/machine/stack.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/partition_spec.h"
#include "engine/mesh/sharding.h"
#include "engine/plan/expert_load.h"
#include "engine/plan/metrics.h"
#include "engine/plan/training_facts.h"
#include "engine/program/arena_layout.h"
#include "engine/program/pipeline_order.h"
#include "engine/program/program.h"
#include "engine/shard/spec_line_use.h"
#include "engine/simulate/simulation.h"

namespace shardscope {

// Why an axis is on a dimension of a value.
struct Origin {
  enum class Kind : uint8_t { user, propagated, cost, replicated } kind = Kind::replicated;
  std::string text;  // "you set it", "from Dense_0/einsum along e", "fastest: saves 12 MiB a step"
};

struct ParameterPlan {
  std::vector<std::string> path;
  Shape shape;
  DType dtype = DType::f32;
  PartitionSpec spec;  // by the run file's table of rules
  bool named = false;  // a rule of it decided
  std::string place;   // the place of that rule in the run file
  Sharding sharding;
  Origin origin;          // of that spec: the rule that decided it
  StateId state = no_id;  // in the graph
  int value = -1;         // program value that stores it
  std::vector<std::string> state_names;
  std::vector<int> state_values;  // program values of the optimizer's state
};

// The layout of a value of the forward graph where it is defined, for views and explanations.
struct ValueLayout {
  ValueId value = no_id;
  std::string name;
  Shape shape;
  Sharding sharding;
  Origin origin;
};

// How long a pass of compile() took.
struct PassTime {
  std::string_view name;  // "place"
  double milliseconds = 0;
};

// Of one run of the main sequence, on the devices of a stage; or of all stages: the largest of each.
struct PlanTotals {
  CategoryBytes memory{};    // bytes per device at the peak, by category
  int64_t memory_total = 0;  // bytes of the arena
  // What a device of the plan's machine holds at its peak, as the plan's software stack holds it; by this program these
  // are `memory` and the arena.
  CategoryBytes device_memory{};
  int64_t allocator_bytes = 0;       // of the stack's allocator and libraries
  int64_t device_bytes = 0;          // all of it
  int64_t live_lower_bound = 0;      // largest sum of live buffers
  double wire_bytes_per_device = 0;  // of the one that sends most
  double flops_per_device = 0;
  double seconds_per_step = 0;  // predicted

  // The share of the arena that is unused even at the peak.
  double fragmentation() const;
};

// How the network is cut into stages, and when each does what; without a pipeline one stage and nothing else.
struct PipelinePlan {
  std::optional<AxisIndex> axis;  // of the mesh; a device's coordinate along it is its stage
  std::string schedule;           // its name: "1f1b"
  PipelineShape shape;
  std::vector<int> layers;         // of each chunk
  PipelineOrder order;             // what the stages do
  std::vector<int> in_flight;      // per stage: microbatches (of a chunk each) whose activations it holds at a time
  std::vector<PlanTotals> totals;  // per stage, also without a pipeline; seconds are those in which it works
  double equal_bubble = 0;         // were all work of all stages equally long, and nothing else

  std::vector<int> layers_of(int stage) const;  // of each of its chunks
};

// What compile() gives: everything that is shown and everything that is executed.
struct Plan {
  std::string
      run_file;  // its text, to be kept beside what the plan makes; those who run or show the plan do not read it
  TrainingFacts training;
  Machine machine;
  Stack stack;                            // what runs the plan there
  std::vector<int> ranks_per_host = {1};  // of the machine, in order
  int threads_per_rank = 1;
  Mesh mesh;
  std::shared_ptr<const Graph> graph;
  Program program;
  PipelinePlan pipeline;
  bool as_written = false;  // the layouts are those of the specs and of propagation alone
  std::vector<ArenaLayout> arenas = std::vector<ArenaLayout>(1);  // per stage
  InstructionTable<double> instruction_seconds;                   // predicted, each alone
  InstructionTable<double> hidden_seconds;  // what the stack hides of each behind passes, besides; empty: nothing
  Simulation simulation;                    // predicted, of the main sequence
  std::vector<SpecLineUse> spec_lines;      // what each line of the run file's table of specs matched
  DType compute_type = DType::f32;  // of matrix products, whoever says so: file, precision, the model's own files
  std::string bf16_products;        // how the machine computes them; empty where there are none
  std::vector<ParameterPlan> parameters;
  std::vector<ValueLayout> layouts;  // inputs and forward results, in graph order
  // Per graph value: the place in the run file that decides its layout ("sharding.rules[1].axes.mlp"; of what nothing
  // speaks, where a spec would stand); empty where nobody says. Not part of the hash.
  std::vector<std::string> pins;
  std::optional<size_t> first_rule_of_strategy;  // of the run file's rules, the first that its strategy stands for
  // Per stage, in the order of Graph::inputs: their program values, -1 where the stage does not use them.
  std::vector<std::vector<int>> input_values = std::vector<std::vector<int>>(1);
  std::vector<Metric> metrics;             // loss first
  std::vector<ExpertLayer> expert_layers;  // in the order of the model
  int64_t memory_limit_bytes = 0;          // of a device: the run file's, else the machine's for a rank; 0: not known
  PlanTotals totals;
  // What the layout search priced (mode fastest): a step's instructions one after the other, of all stages together.
  struct {
    double chosen = 0, as_written = 0;
  } priced_seconds;
  std::vector<Error> warnings;
  std::vector<PassTime> passes;      // of compile(), in order; not part of the hash
  uint64_t hash = 0;                 // of config, machine, versions and all that ranks must agree on
  double planning_milliseconds = 0;  // wall time of compile(); not part of the hash

  // The steps of a training step (without optimizer: of an evaluation) by position: what a person sees as "step 12",
  // in the views, the trace and messages.
  SequenceInstructions instructions(int stage = 0) const { return program.main_instructions(stage); }
  bool trains() const { return program.find(Purpose::train_step); }
  double seconds(int position, int stage = 0) const { return instruction_seconds[instructions(stage).id(position)]; }
  int stage_of(int device) const {
    return pipeline.axis ? static_cast<int>(mesh.coordinate(device, *pipeline.axis)) : 0;
  }
  std::string pipeline_axis() const;                                      // its name; empty: there is none
  std::vector<int> devices_of_stage(int stage) const;                     // ascending
  int host_of(int device) const;                                          // its number
  int ranks_on_host() const { return std::ranges::max(ranks_per_host); }  // the most
  double waiting_share(int stage) const;                                  // of the predicted step; 0 without a pipeline
  const ArenaLayout& arena_of(int device) const { return arenas[static_cast<size_t>(stage_of(device))]; }
  int64_t arena_bytes() const;  // of the largest
  std::string instruction_name(const Instruction& instruction) const;
  std::string cause(const Instruction& instruction) const;  // of a reshard, one line an array; else empty
  std::string value_name(int program_value) const;
  std::string buffer_name(const Buffer& buffer, int stage = 0) const;
  const Buffer& buffer(int program_value) const {
    const ArenaLayout& arena = arenas[static_cast<size_t>(program.values.at(program_value).stage)];
    return arena.buffers.at(arena.buffer_of.at(program_value));
  }
};

// What a device sends in a step, by the ring convention: all of a stage as much, but for permutes that reach some
// alone.
double wire_bytes_of(const Plan& plan, int device);

}  // namespace shardscope
