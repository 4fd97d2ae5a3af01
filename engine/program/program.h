#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

enum class MemoryCategory : uint8_t { parameters, gradients, optimizer, activations, collectives, workspace };
inline constexpr int memory_category_count = 6;
std::string_view name(MemoryCategory category);

// A region of every rank's arena: [offset, offset + bytes), in use from step `first` to step `last` inclusive.
// Persistent buffers (parameters, optimizer state, inputs) span the whole program.
struct Buffer {
  std::string name;
  MemoryCategory category = MemoryCategory::activations;
  int64_t bytes = 0;
  int64_t offset = 0;
  int first = 0;
  int last = 0;
  bool persistent = false;
};

// A value as it lies on the devices. Several program values may stem from one graph value (its reshards), and may
// share one buffer (in-place results).
struct ProgramValue {
  std::string name;
  ValueId graph_value = no_id;
  DType dtype = DType::f32;
  Shape shape;  // global
  Sharding sharding;
  Shape local_shape;                                                               // per device
  int buffer = -1;                                                                 // index into Program::buffers
  int64_t bytes() const { return element_count(local_shape) * byte_size(dtype); }  // per device
};

// `slice` is local: each device keeps its part of what it already holds.
enum class StepKind : uint8_t {
  compute,
  slice,
  all_gather,
  all_reduce,
  reduce_scatter,
  all_to_all,
  collective_permute
};
std::string_view name(StepKind kind);
inline bool is_collective(StepKind kind) { return kind >= StepKind::all_gather; }

// One thing that every device does, at its own coordinates. The step's index in Program::steps is its id, in the
// plan, on the ranks and in the trace.
struct Step {
  StepKind kind = StepKind::compute;
  std::string name;
  Phase phase = Phase::forward;
  OpId op = no_id;           // graph op: the one computed, or the one whose operand or result is resharded
  std::vector<int> inputs;   // program values
  std::vector<int> outputs;  // a collective over a bucket has inputs[i] -> outputs[i]
  int workspace = -1;        // buffer
  double flops = 0;          // per device
  double bytes_touched = 0;  // per device, of memory
  double seconds = 0;        // predicted

  // Collectives. Bytes are per device and step; wire bytes by the ring convention: all-reduce 2(p-1)/p n,
  // all-gather and reduce-scatter (p-1)/p of the full size, all-to-all (p-1)/p of the local size, permute n.
  std::vector<AxisIndex> axes;  // the group, major to minor
  int64_t group_size = 1;
  Reduction reduction = Reduction::sum;  // all-reduce, reduce-scatter
  std::vector<int> split_dims;           // per input: reduce-scatter, all-to-all; -1 elsewhere
  std::vector<int> concat_dims;          // per input: all-gather, all-to-all; -1 elsewhere
  int64_t payload_bytes = 0;             // n: the full size (all-gather: result, reduce-scatter: operand)
  double wire_bytes = 0;
  std::string cause;  // one sentence: which op needed which layout of what
};

struct Program {
  std::vector<ProgramValue> values;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  int64_t arena_bytes = 0;  // packed, 64-byte aligned
};

// Throws Failure naming the step where a program is not sound: an operand not yet defined, a partial sum that reaches
// an op not linear in it, a local shape that disagrees with its sharding.
void verify(const Program& program, const Graph& graph, const Mesh& mesh);

}  // namespace shardscope
