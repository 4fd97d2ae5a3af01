#include "engine/search/layer_profile.h"

#include <algorithm>
#include <optional>

#include "engine/graph/op_definition.h"
#include "engine/machine/collective_seconds.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/stages.h"
#include "engine/plan/weight_gradient_order.h"
#include "engine/search/longer_ring.h"
#include "engine/search/network_parts.h"
#include "engine/search/whole_step.h"
#include "engine/simulate/streams.h"

namespace shardscope {

bool splits_gradients(const Candidate& candidate) {
  return candidate.strategy.fsdp > 1 || candidate.strategy.zero >= 2;
}

LayerProfile profile_of(const LoweredStep& step, const Candidate& candidate, ProfileKind kind, const Machine& machine) {
  const bool is_ideal = is_of_all_sizes(kind), coarse = kind != ProfileKind::own;
  const Graph& graph = step.graph();
  const Program& program = step.program;
  const WorkPrices& prices = *step.prices;
  InstructionTable<double> seconds = predict_seconds(program, graph, prices);
  if (is_ideal) {
    for (size_t t = 0; t < program.tasks.size(); ++t) {
      const std::vector<Instruction>& list = program.tasks[t].instructions;
      for (size_t i = 0; i < list.size(); ++i) {
        const CollectiveStart* start = list[i].as<CollectiveStart>();
        if (!start) continue;
        seconds.tasks[t][i] = payload_as_held(*start, program, prices) *
                              least_seconds_per_byte(start->kind, prices.placement(start->axes), machine);
      }
    }
  }
  std::vector<int> levels;
  for (const AxisList& axes : program.groups) levels.push_back(prices.placement(axes).level());
  const Stack& stack = prices.stack();
  // What blocks in another stack is decided by most of what a group moves in the whole network: here nothing does.
  const Streams streams = streams_on(machine, levels, {});
  LayerProfile profile;
  profile.layers = step.layers;
  profile.goes_round = goes_round(graph);
  profile.runs_here = stack.runs_here();
  profile.rows = step.config.strategy->microbatch_size;
  for (const Op& op : graph.ops) {
    std::vector<TensorType> operands;
    for (ValueId input : op.inputs) operands.push_back(graph.type(input));
    const std::optional<double> rows = rows_of_expert(op, operands);
    const auto shares = static_cast<double>(candidate.strategy.expert * candidate.strategy.context);
    if (rows) profile.rows_of_expert = std::min(profile.rows_of_expert, *rows / shares);
  }
  const NetworkParts parts = step.parts();
  profile.kept = parts.kept();
  std::vector<bool> left_out(graph.ops.size());
  const std::vector<bool> weights = weight_gradient_ops(graph);
  const bool splits_sums = is_ideal || (coarse && splits_gradients(candidate));
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    // Whether backward makes a cast again follows from where arrays are, which only an own profile knows.
    if (coarse && op.phase == Phase::recompute && op.forward_op != no_id)
      left_out[id] = step.written->training->recomputed_casts.contains(graph.ops[op.forward_op].name);
    // Replicas may share what is behind the sum of their gradients; and a stack joins ops to other chains where
    // parameters are gathered.
    const bool may_be_less = weights[id] || !stack.runs_here();
    const bool is_product = op.definition->is_matrix_product();
    if (splits_sums && may_be_less && !is_product) left_out[id] = true;
    // Kernels of another stack's attention are not those of an ideal machine.
    const bool attends = op.definition->work_kind() == "attention" || op.place.part == LayerPart::attention;
    if (is_ideal && !stack.runs_here() && attends && (!is_product || op.definition->work_kind() == "attention"))
      left_out[id] = true;
  }
  const bool overlaps = step.config.schedule.overlap != OverlapMode::off;
  for (size_t stream = 0; stream < streams.names.size(); ++stream)
    profile.is_joined.push_back(overlaps && streams.find(Streams::compute, static_cast<int>(stream)));
  TaskClock clock(program, graph, parts, streams, overlaps, weights, left_out, coarse, profile.kept);
  const std::vector<PartWork> nothing(static_cast<size_t>(profile.kept) + 2, clock.no_work());
  profile.backward_of_inputs = nothing;
  profile.begin = profile.forward = profile.backward = profile.update = nothing;
  for (const TaskRun& task_run : program.main().runs) {
    if (!task_run.is_first) continue;
    const Task& task = program.tasks[task_run.task];
    std::vector<double>& took = seconds.tasks[static_cast<size_t>(task_run.task)];
    if (task.name == "forward") {
      profile.forward = clock.run(task, took, &profile.forward_tail, &profile.forward_messages);
    } else if (task.name == "backward") {
      profile.backward = clock.run(task, took, &profile.backward_tail, &profile.backward_messages);
      if (candidate.strategy.pipeline > 1 || coarse)
        profile.backward_of_inputs = clock.run(task, took, nullptr, nullptr, true);
    } else if (task.name == "update" || task.name == "begin") {
      // A stack may hide what an update moves behind passes.
      for (size_t i = 0; i < took.size() && !stack.runs_here(); ++i) {
        if (task.instructions[i].as<CollectiveStart>()) took[i] = 0;
      }
      std::vector<PartWork>& works = task.name == "update" ? profile.update : profile.begin;
      works = clock.run(task, took);
      // What one layer waits for may go on beside the others.
      for (PartWork& work : works) work.clock = work.computing;
    }
  }
  if (stack.overlap.pipeline || !stack.runs_here())
    profile.forward_messages.bytes = profile.backward_messages.bytes = 0;
  const auto memory_of = [&](const Program& of) {
    return memory_of_layers(of, graph, parts, stack, prices.machine().threads_per_rank(), step.accumulates, coarse);
  };
  profile.memory = memory_of(program);
  if (!orders_weight_gradients(step.config.schedule.overlap, stack, machine)) return profile;
  const ListedOrders orders = weight_gradient_orders(program, graph);
  if (orders.empty()) return profile;
  Program other = program;
  list_in(orders, other, seconds);
  for (const TaskRun& task_run : other.main().runs) {
    const Task& task = other.tasks[static_cast<size_t>(task_run.task)];
    if (!task_run.is_first || task.name != "backward") continue;
    double tail = 0;
    const std::vector<PartWork> works = clock.run(task, seconds.tasks[static_cast<size_t>(task_run.task)], &tail);
    for (size_t part = 0; part < works.size(); ++part) profile.backward[part].take_smaller(works[part]);
    profile.backward_tail = std::min(profile.backward_tail, tail);
  }
  profile.memory_of_other_order = memory_of(other);
  return profile;
}

}  // namespace shardscope
