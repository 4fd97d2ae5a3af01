#include "gui/pages/flow_words.h"

#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/workspace/array_of_value.h"
#include "viz/paint/flow_difference.h"
#include "viz/paint/layout_geometry.h"

namespace shardscope {
namespace {

const Instruction& first_step(const Plan& plan, const FlowNode& node) {
  return plan.program.tasks[static_cast<size_t>(node.steps.front().task)]
      .instructions[static_cast<size_t>(node.steps.front().index)];
}

// The last scopes of a name: "mha/query" of "blocks/0/mha/query/einsum" without its last.
QString last_scopes(const QString& name, int count, int skipped = 0) {
  const QStringList scopes = name.split('/');
  const qsizetype end = std::max<qsizetype>(0, scopes.size() - skipped);
  return scopes.mid(std::max<qsizetype>(0, end - count), std::min<qsizetype>(count, end)).join('/');
}

OpId user_of(const Instruction& instruction) {
  return instruction.moved().empty() ? instruction.op : instruction.moved().front().cause.user;
}

QString op_name(const Plan& plan, OpId op) { return op == no_id ? QString() : qt(plan.graph->ops[op].name); }

FlowNodeText text_of(const Plan& plan, const FlowNode& node) {
  const Instruction& instruction = first_step(plan, node);
  FlowNodeText text;
  text.cost = node.seconds > 0 ? qt(seconds_text(node.seconds)) : QString();
  if (instruction.kind() == InstructionKind::compute) {
    const QString name = qt(plan.instruction_name(instruction));
    text.title = last_scopes(name, 1);
    text.detail = last_scopes(name, 2, 1);
    if (instruction.phase == Phase::recompute) text.title += QObject::tr(", again");
    return text;
  }
  const QString array = last_scopes(moved_text(plan, instruction), 2);
  if (is_transfer(instruction.kind())) {
    text.title = qt(plan.instruction_name(instruction)).section(" of ", 0, 0);
    text.detail = array;
    return text;
  }
  const QString over = axes_text(plan.mesh, instruction.axes());
  text.title =
      over.isEmpty() ? qt(name(instruction.kind())) : QObject::tr("%1 over %2").arg(qt(name(instruction.kind())), over);
  const QString user = last_scopes(op_name(plan, user_of(instruction)), 2);
  text.detail = user.isEmpty() ? array : array + QString(" \u2192 ") + user;
  return text;
}

// "mha, linear1": the first scopes of its ops that are not those of every layer.
QString scopes_of(const Plan& plan, const FlowGraph& graph, const FlowLane& lane) {
  QStringList scopes;
  for (int n = lane.first; n < lane.end && scopes.size() < 4; ++n) {
    const Instruction& instruction = first_step(plan, graph.nodes[static_cast<size_t>(n)]);
    if (instruction.kind() != InstructionKind::compute || instruction.op == no_id) continue;
    const QString scope = op_name(plan, instruction.op).section('/', 0, 0);
    if (!scopes.contains(scope)) scopes << scope;
  }
  if (scopes.size() == 4) scopes.last() = QObject::tr("others");
  return scopes.join(", ");
}

QString lane_text(const Plan& plan, const FlowGraph& graph, const FlowLane& lane) {
  QString task = qt(plan.program.tasks[static_cast<size_t>(lane.task)].name);
  task[0] = task[0].toUpper();
  QStringList parts{task};
  const QString scopes = scopes_of(plan, graph, lane);
  if (!scopes.isEmpty()) parts << scopes;
  if (lane.layers.size() > 1)
    parts << QObject::tr("layers %1 \u00d7 %2").arg(qt(device_text(lane.layers))).arg(lane.layers.size());
  else if (!lane.layers.empty()) parts << QObject::tr("layer %1").arg(lane.layers.front());
  const int runs = graph.nodes[static_cast<size_t>(lane.first)].runs;
  if (runs > 1) parts << QObject::tr("%1 microbatches").arg(runs);
  return parts.join(QString(" \u00b7 "));
}

QString lane_cost(const FlowLane& lane) {
  QString text = qt(seconds_text(lane.seconds));
  if (lane.wire_bytes > 0) text += QObject::tr(", %1 sent").arg(qt(bytes_text(lane.wire_bytes)));
  return text;
}

QString layout_text(const Plan& plan, int value) {
  return qt(to_string(plan.program.values[static_cast<size_t>(value)].sharding, plan.mesh));
}

QString layers_text(const FlowLane& lane) {
  return (lane.layers.size() > 1 ? QObject::tr("layers %1") : QObject::tr("layer %1"))
      .arg(qt(device_text(lane.layers)));
}

QString instruction_text(const Plan& plan, const FlowGraph& graph, int node) {
  if (node < 0) return QObject::tr("nothing");
  const FlowNode& shown = graph.nodes[static_cast<size_t>(node)];
  const FlowNodeText text = text_of(plan, shown);
  return shown.kind == InstructionKind::compute ? last_scopes(qt(plan.instruction_name(first_step(plan, shown))), 2)
                                                : QObject::tr("%1 of %2").arg(text.title, text.detail);
}

}  // namespace

FlowWords flow_words(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<const FlowGraph>& graph) {
  std::vector<QString> titles;
  for (const FlowLane& lane : graph->lanes) titles.push_back(lane_text(*plan, *graph, lane));
  const auto title_of = [graph, titles = std::move(titles)](const FlowLane& lane) {
    return titles[static_cast<size_t>(&lane - graph->lanes.data())];
  };
  return {[plan](const FlowNode& node) { return text_of(*plan, node); }, title_of, lane_cost,
          [plan](int value) { return layout_text(*plan, value); }};
}

QString node_tip(const Plan& plan, const FlowNode& node) {
  const Instruction& instruction = first_step(plan, node);
  QStringList lines{qt(plan.instruction_name(instruction))};
  if (const QString cause = qt(plan.cause(instruction)); !cause.isEmpty()) lines << short_cause(cause);
  for (size_t i = 0; i < std::min<size_t>(instruction.destinations().size(), 3); ++i) {
    const ProgramValue& program_value = plan.program.values[static_cast<size_t>(instruction.destinations()[i])];
    lines << QObject::tr("gives %1 %2, local %3")
                 .arg(qt(to_string(program_value.shape)), layout_text(plan, instruction.destinations()[i]),
                      qt(to_string(program_value.local_shape)));
  }
  const auto times = static_cast<int>(node.steps.size()) * node.runs;
  const double once = plan.instruction_seconds[node.steps.front()];
  QString predicted = QObject::tr("predicted %1").arg(qt(seconds_text(once)));
  if (times > 1)
    predicted += QObject::tr(" once, %1 a training step: %2, %3")
                     .arg(qt(seconds_text(node.seconds)), counted_text(std::ssize(node.steps), "layer"),
                          counted_text(node.runs, "microbatch", "microbatches"));
  lines << predicted;
  if (node.wire_bytes > 0)
    lines << QObject::tr("%1 sent by each device a training step").arg(qt(exact_bytes(node.wire_bytes)));
  if (node.flops > 0) lines << qt(flops_text(node.flops));
  return lines.join('\n');
}

QString lane_tip(const Plan& plan, const FlowGraph& graph, int lane) {
  const FlowLane& own = graph.lanes[static_cast<size_t>(lane)];
  QStringList lines{lane_text(plan, graph, own)};
  const std::optional<LaneDifference> found = lane_difference(plan, graph, lane);
  if (!found) return lines.join('\n');
  const QString here = instruction_text(plan, graph, found->here), there = instruction_text(plan, graph, found->there);
  lines << QObject::tr("first unlike %1:").arg(layers_text(graph.lanes[static_cast<size_t>(found->other)]));
  if (found->value_here >= 0) {
    lines << (found->is_given ? QObject::tr("what %1 gives").arg(here) : QObject::tr("what %1 takes").arg(here));
    lines << QObject::tr("here %1, there %2")
                 .arg(layout_text(plan, found->value_here), layout_text(plan, found->value_there));
  } else if (here != there) {
    lines << QObject::tr("here %1").arg(here) << QObject::tr("there %1").arg(there);
  } else {
    lines << QObject::tr("%1 takes another array").arg(here);
  }
  return lines.join('\n');
}

}  // namespace shardscope
