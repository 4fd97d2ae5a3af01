#include "engine/compile/plan_hash.h"

#include "engine/base/hash.h"
#include "engine/compile/file_paths.h"
#include "engine/config/run_document.h"
#include "engine/config/run_file_keys.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/machine_keys.h"

namespace shardscope {

namespace {

// That of equal plans made by planners whose steps mean something else. The code itself is compared by check_ranks().
constexpr std::string_view planner_version = "6";

template <class Values>
void add_all(Hasher& hasher, const Values& values) {
  hasher.add(values.size());
  for (const auto& value : values) hasher.add(value);
}

void add_axes(Hasher& hasher, const AxisList& axes) {
  hasher.add(axes.count);
  for (AxisIndex axis : axes) hasher.add(axis);
}

void add_sharding(Hasher& hasher, const Sharding& sharding) {
  hasher.add(sharding.rank).add(sharding.partial).add(sharding.reduction);
  for (int d = 0; d < sharding.rank; ++d) add_axes(hasher, sharding.dims[d]);
}

// Ops of one signature have equal attributes.
void add_ops(Hasher& hasher, const Graph& graph) {
  std::vector<bool> reported(graph.signatures.size());
  for (const Op& op : graph.ops) {
    hasher.add(op.signature).add(op.phase);
    if (!reported[op.signature]) hasher.add(op.definition->name()).add(op.attributes.text());
    reported[op.signature] = true;
  }
}

void add_instruction(Hasher& hasher, const Instruction& instruction) {
  hasher.add(instruction.kind()).add(instruction.channel()).add(instruction.op).add(instruction.payload_bytes());
  if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
    hasher.add(start->reduction).add(start->dtype);
    if (start->counted) hasher.add(start->counted);
    if (start->shift != 0) hasher.add(start->shift);
    if (!start->receivers.empty()) add_all(hasher, start->receivers);
  }
  if (const CollectiveDone* done = instruction.as<CollectiveDone>()) hasher.add(done->start);
  add_axes(hasher, instruction.axes());
  add_all(hasher, instruction.operands());
  add_all(hasher, instruction.destinations());
  for (const MovedArray& array : instruction.moved()) hasher.add(array.split_dim).add(array.concat_dim);
}

// The config as it is hashed: without machine and hosts, of which the plan has what matters; without what lint is
// given; without the paths of data, whose contents are compared beside the plan (engine/worker/data_check.h), and of
// the model's files, which the graph is made from; what a strategy stands for in its place; mode fastest under its
// former name, so that plans of today are those of then.
std::string hashed_config(RunConfig config) {
  config = with_named_paths(std::move(config), [](const std::string&) { return std::string(); });
  config.machine.clear();
  config.hosts.clear();
  config.lint = {};
  config.strategy.reset();
  JsonNode document = to_run_document(config);
  if (config.sharding.mode == LayoutMode::fastest)
    *document.find("sharding")->find("mode") = JsonNode::of(std::string(run_file::former_name_of_fastest));
  return print_json(document);
}

void remove_sources(JsonNode& node) {
  constexpr const char* key = "source";
  if (const JsonNode* source = node.find(key); source && source->is(JsonNode::Kind::string)) node.remove(key);
  for (JsonNode& item : node.items) remove_sources(item);
}

// What of a machine a plan's times and layouts come from: not whose it is, nor how much it has, nor where its numbers
// are from.
std::string hashed_machine(Machine machine) {
  machine.name.clear();
  machine.device.cores = 1;
  machine.device.memory_bytes = 1;
  machine.device.bf16_products.clear();
  machine.price_per_device_hour = 0;
  machine.evidence = {};
  JsonNode document = machine_type().write(machine);
  remove_sources(document);
  return print_json(document);
}

}  // namespace

uint64_t plan_hash(const Plan& plan, const RunConfig& config) {
  Hasher hasher;
  hasher.add(planner_version).add(hashed_config(config));
  hasher.add(hashed_machine(plan.machine));
  add_ops(hasher, *plan.graph);
  for (const ProgramValue& value : plan.program.values) {
    hasher.add(value.graph_value).add(value.stage).add(value.dtype);
    add_sharding(hasher, value.sharding);
  }
  for (const StageChannel& channel : plan.program.channels)
    hasher.add(channel.from).add(channel.to).add(channel.capacity);
  for (const Task& task : plan.program.tasks) {
    hasher.add(task.name).add(task.instructions.size());
    for (const Instruction& instruction : task.instructions) add_instruction(hasher, instruction);
    hasher.add(task.order.size());
    for (size_t place = 0; place < task.order.size(); ++place) hasher.add(task.order.index(static_cast<int>(place)));
  }
  for (const Sequence& sequence : plan.program.sequences) {
    hasher.add(sequence.purpose).add(sequence.stage).add(sequence.runs.size());
    for (const TaskRun& run : sequence.runs) hasher.add(run.task).add(run.microbatch);
  }
  for (const ArenaLayout& arena : plan.arenas) {
    hasher.add(arena.bytes);
    for (const Buffer& buffer : arena.buffers) hasher.add(buffer.offset).add(buffer.bytes).add(buffer.slot_count);
    add_all(hasher, arena.buffer_of);
  }
  return hasher.digest();
}

}  // namespace shardscope
