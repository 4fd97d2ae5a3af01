#include "gui/pages/collective_words.h"

#include <array>

#include "engine/base/units.h"
#include "engine/plan/host_groups.h"
#include "gui/document/text.h"
#include "gui/pages/collectives_model.h"
#include "viz/paint/timeline_ranks.h"

namespace shardscope {
namespace {

const std::array<std::pair<const char*, const char*>, CollectivesModel::columns> titles{
    {{QT_TR_NOOP("Collective"),
      QT_TR_NOOP("What the devices of a group do together: gather, sum or exchange parts of an array.")},
     {QT_TR_NOOP("Array"), QT_TR_NOOP("What is moved. Choosing a row selects it.")},
     {QT_TR_NOOP("Mesh axes"), QT_TR_NOOP("The mesh axes along which the group reaches.")},
     {QT_TR_NOOP("Sent"), QT_TR_NOOP("Wire bytes: what each device sends in a training step, by the ring convention.")},
     {QT_TR_NOOP("Predicted"), QT_TR_NOOP("Time in a training step that the cost model expects.")},
     {QT_TR_NOOP("Exchanged"),
      QT_TR_NOOP("Measured, mean over the ranks of the last run of this plan: from when all had come to the end.")},
     {QT_TR_NOOP("Waited"), QT_TR_NOOP("Measured likewise: from a rank's coming until the last of its group had come. "
                                       "The cost model knows no waiting.")},
     {QT_TR_NOOP("Times"), QT_TR_NOOP("How often in a training step: once for each microbatch, or once.")},
     {QT_TR_NOOP("Payload"), QT_TR_NOOP("Bytes of the full array that is gathered, summed or exchanged.")},
     {QT_TR_NOOP("Phase"), QT_TR_NOOP("Forward pass, backward pass or weight update. Sorts by program order.")},
     {QT_TR_NOOP("Stage"), QT_TR_NOOP("The stage of the pipeline whose devices take part.")},
     {QT_TR_NOOP("Op"), QT_TR_NOOP("The operation that needs it.")},
     {QT_TR_NOOP("Cause"), QT_TR_NOOP("The two shardings that meet there.")}}};

}  // namespace

QString column_title(int column) { return CollectivesModel::tr(titles[static_cast<size_t>(column)].first); }

QString column_tip(int column) { return CollectivesModel::tr(titles[static_cast<size_t>(column)].second); }

QString op_title(const Plan& plan, const Instruction& instruction) {
  if (is_transfer(instruction.kind())) return short_name(plan.instruction_name(instruction));
  const bool has_op = plan.graph && instruction.op >= 0 && instruction.op < static_cast<OpId>(plan.graph->ops.size());
  return short_name(has_op ? plan.graph->ops[instruction.op].name : plan.instruction_name(instruction));
}

QString over_text(const Plan& plan, const Instruction& instruction) {
  if (is_transfer(instruction.kind())) return qt(plan.mesh.axes()[*plan.pipeline.axis].name);
  return axes_text(plan.mesh, instruction.axes());
}

QString across_hosts(const Plan& plan, const Instruction& instruction) {
  const int hosts = is_transfer(instruction.kind()) ? 1 : hosts_of_group(plan, instruction);
  return hosts > 1 ? QString(" \u2194 %1 hosts").arg(hosts) : QString();
}

QString waiting_text(const Plan& plan, const TraceMessage* trace, StepRef id, const MeasuredTime& time,
                     double predicted) {
  QStringList lines{
      QObject::tr("%1 from a rank's coming to the end: %2 waiting for the others, %3 exchanging; predicted %4")
          .arg(qt(seconds_text(time.seconds())), qt(seconds_text(time.waiting)), qt(seconds_text(time.working)),
               qt(seconds_text(predicted)))};
  const std::optional<int> position = position_of(plan, id);
  if (!trace || !position) return lines.join('\n');
  std::optional<Meeting> worst;  // of all groups
  for (const int rank : plan.devices_of_stage(stage_of(plan, id)))
    if (std::optional<Meeting> met = meeting_of(plan, trace->ranks, rank, *position);
        met && (!worst || met->spread > worst->spread))
      worst = std::move(met);
  if (worst && worst->spread > 0)
    lines << QObject::tr("in training step %1 rank %2 came last of %3, %4 after the first")
                 .arg(trace->step)
                 .arg(worst->last)
                 .arg(worst->ranks.size())
                 .arg(qt(seconds_text(worst->spread)));
  return lines.join('\n');
}

}  // namespace shardscope
