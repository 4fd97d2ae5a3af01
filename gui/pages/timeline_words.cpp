#include "gui/pages/timeline_words.h"

#include <QObject>
#include <QStringList>
#include <algorithm>
#include <tuple>

#include "engine/base/units.h"
#include "engine/plan/hidden_transfers.h"
#include "gui/document/text.h"
#include "gui/workspace/step_facts.h"

namespace shardscope {

namespace {

// Those of an instruction; of a collective those of its start and of its done.
std::vector<TrackSlice> slices_of(const TimelineRow& row, const SequenceInstructions& steps, int position) {
  std::vector<TrackSlice> slices;
  const int start = steps.start_of(position), done = steps.done_of(start);
  for (const int end : start == done ? std::vector<int>{start} : std::vector<int>{start, done}) {
    for (auto [first, last] = row.track->slices_of(end); first < last;
         std::tie(first, last) = row.track->slices_of(end, last))
      slices.insert(slices.end(), row.track->slices().begin() + first, row.track->slices().begin() + last);
  }
  return slices;
}

// "all-gather over tensor of w", "einsum mlp/dot".
QString step_title(const Plan& plan, const Instruction& instruction, const QString& name_of) {
  const QString kind = qt(name(instruction.kind()));
  return qt(plan.instruction_name(instruction)).startsWith(kind + ' ') ? name_of : kind + ' ' + name_of;
}

// What the stack hides of a collective, and where the rest of it is; empty where it hides nothing.
QString hidden_facts(const Plan& plan, const TimelineRow& row, int start) {
  const double hidden = hidden_behind_passes(plan, row.stage, start), rest = plan.seconds(start, row.stage);
  if (hidden <= 0 || !row.predicted) return {};
  const std::vector<HiddenTransfer>& all = row.predicted->behind_passes;
  const auto own = std::ranges::find(all, start, &HiddenTransfer::position);
  const QString pass = qt(pass_text(own != all.end() && own->of_parameters));
  const QString stack = qt(plan.stack.name);
  if (rest <= 0) return QObject::tr("%1 hides all of it, %2, behind %3.").arg(stack, qt(seconds_text(hidden)), pass);
  return QObject::tr("%1 hides %2 of its %3 behind %4; the rest, %5, is in the update.")
      .arg(stack, qt(seconds_text(hidden)), qt(seconds_text(hidden + rest)), pass, qt(seconds_text(rest)));
}

// What a device waits for in a predicted step, and what would hide it.
QString waiting_facts(const Plan& plan, int stage, const ExposedWait& exposed) {
  const SequenceInstructions steps = plan.instructions(stage);
  const auto named = [&](int position) { return short_name(plan.instruction_name(steps[position])); };
  QStringList words{
      QObject::tr("The device waits %1 of the %2 that it takes (%3).")
          .arg(qt(seconds_text(exposed.seconds)), qt(seconds_text(exposed.transfer)), qt(exposed.stream))};
  if (exposed.operand >= 0) words << QObject::tr("It moves what %1 makes.").arg(named(exposed.operand));
  if (exposed.user >= 0) words << QObject::tr("%1 needs it.").arg(named(exposed.user));
  if (exposed.longest < 0) {
    words << QObject::tr("Nothing of its task is independent of it: only work of another microbatch would hide it.");
    return words.join(' ');
  }
  const QString hidden = qt(seconds_text(std::min(exposed.seconds, exposed.independent)));
  const QString independent = qt(seconds_text(exposed.independent));
  words << (exposed.setting.empty()
                ? QObject::tr("Independent work of its task, %1 (%2 and others), would hide %3, issued meanwhile.")
                      .arg(independent, named(exposed.longest), hidden)
                : QObject::tr("Independent work of its task, %1 (%2 and others), would hide %3, if %4 let it.")
                      .arg(independent, named(exposed.longest), hidden, qt(exposed.setting)));
  return words.join(' ');
}

}  // namespace

QString step_heading(const MeasuredStep& measured, int64_t step, double predicted) {
  const MeasuredStep::Exposed exposed = measured.exposed();
  QStringList words{QObject::tr("training step %1: %2 (%3)")
                        .arg(step)
                        .arg(qt(seconds_text(measured.seconds)), qt(ratio_text(measured.seconds, predicted)))};
  if (const int late = measured.late_rank(); late >= 0)
    words << QObject::tr("rank %1 is late: %2 of all waiting is for it")
                 .arg(late)
                 .arg(qt(share_text(part_of(measured.ranks[size_t(late)].delayed_others, measured.waited))));
  words << QObject::tr("exposed communication %1 (waiting %2, transfer %3)")
               .arg(qt(share_text(exposed.all())), qt(share_text(exposed.waiting)), qt(share_text(exposed.transfer)));
  return words.join(QString::fromUtf8("  \u00b7  "));
}

QString slice_tip(const Workspace& workspace, const Plan& plan, const TraceMessage* trace, const TimelineRow& row,
                  int number) {
  const TrackSlice& slice = row.track->slices()[size_t(number)];
  const SequenceInstructions steps = plan.instructions(row.stage);
  const int start = steps.start_of(slice.step);
  const Instruction& instruction = steps[start];
  const double predicted = plan.seconds(start, row.stage);
  QStringList lines{step_title(plan, instruction, qt(plan.instruction_name(instruction)))};
  const QString hidden = hidden_facts(plan, row, start);
  if (!hidden.isEmpty()) lines << hidden;
  if (hidden.isEmpty()) lines << QObject::tr("predicted %1").arg(qt(seconds_text(predicted)));
  if (!row.stream.isEmpty() && !row.is_behind_passes) {
    PartSeconds sum{};
    for (const TrackSlice& own : slices_of(row, steps, start)) sum[size_t(own.part)] += own.end - own.start;
    lines << QObject::tr("exposed %1, hidden behind work %2")
                 .arg(qt(seconds_text(sum[size_t(TimePart::transfer)])),
                      qt(seconds_text(sum[size_t(TimePart::hidden)])));
  }
  if (row.rank >= 0) {
    bool waited = false;
    for (const TrackSlice& own : slices_of(row, steps, slice.step)) {
      waited = waited || (own.part == TimePart::waiting && own.end > own.start);
      const QString long_ = qt(seconds_text(own.end - own.start));
      lines << (own.part == TimePart::waiting    ? QObject::tr("waited %1").arg(long_)
                : own.part == TimePart::transfer ? QObject::tr("moved in %1").arg(long_)
                                                 : QObject::tr("%1 in this training step").arg(long_));
    }
    if (const std::optional<Meeting> met = meeting_of(plan, trace->ranks, row.rank, slice.step);
        met && waited && met->last != row.rank)
      lines << QObject::tr("waited for rank %1").arg(met->last);
  }
  if (const std::optional<double> seconds = workspace.measured_seconds(step_at(plan, slice.step, row.stage)))
    lines << QObject::tr("measured %1 (%2)").arg(qt(seconds_text(*seconds)), qt(ratio_text(*seconds, predicted)));
  if (instruction.flops() > 0)
    lines << QObject::tr("%1, %2 touched")
                 .arg(qt(flops_text(instruction.flops())), qt(bytes_text(instruction.bytes_touched())));
  if (is_communication(instruction.kind()))
    lines << QObject::tr("sent by each device: %1").arg(qt(exact_bytes(instruction.wire_bytes())));
  if (const QString cause = qt(plan.cause(instruction)); !cause.isEmpty()) lines << short_cause(cause);
  return lines.join('\n');
}

QString memory_tip(const Plan& plan, const MemoryTrack& memory, double seconds) {
  const QString in_use = QObject::tr("In use: %1").arg(qt(bytes_text(double(memory.at(seconds)))));
  const QString holds =
      plan.stack.runs_here() ? QObject::tr("arena: %1") : QObject::tr("at the peak, with the allocator: %1");
  const QString held = holds.arg(qt(bytes_text(double(memory.held()))));
  const int64_t limit = plan.memory_limit_bytes;
  return in_use + '\n' + held +
         (limit > 0 ? '\n' + QObject::tr("a device has %1").arg(qt(bytes_text(double(limit)))) : QString());
}

QString step_facts(const Plan& plan, const TraceMessage* trace, const TimelineRow& row, int position,
                   const std::optional<ExposedWait>& exposed) {
  const SequenceInstructions steps = plan.instructions(row.stage);
  const int start = steps.start_of(position);
  const Instruction& instruction = steps[start];
  const QString title = step_title(plan, instruction, short_name(plan.instruction_name(instruction)));
  const QString predicted = qt(seconds_text(plan.seconds(start, row.stage)));
  if (row.rank < 0) {
    const QString hidden = hidden_facts(plan, row, start);
    return QObject::tr("%1: predicted %2").arg(title, predicted) + (hidden.isEmpty() ? QString() : ". " + hidden) +
           (exposed ? (hidden.isEmpty() ? ". " : " ") + waiting_facts(plan, row.stage, *exposed) : QString());
  }
  PartSeconds sum{};
  for (const TrackSlice& slice : slices_of(row, steps, position)) sum[size_t(slice.part)] += slice.end - slice.start;
  if (!is_communication(instruction.kind()))
    return QObject::tr("%1 on rank %2: %3 (predicted %4)")
        .arg(title)
        .arg(row.rank)
        .arg(qt(seconds_text(sum[0])), predicted);
  QString text = QObject::tr("%1 on rank %2: waited %3, moved in %4 (predicted %5)")
                     .arg(title)
                     .arg(row.rank)
                     .arg(qt(seconds_text(sum[2])), qt(seconds_text(sum[1])), predicted);
  const std::optional<Meeting> met = meeting_of(plan, trace->ranks, row.rank, position);
  if (!met) return text;
  if (is_transfer(instruction.kind()))
    return sum[2] > 0 && met->last != row.rank ? text + QObject::tr(". It waited for rank %1.").arg(met->last) : text;
  return text + QObject::tr(". Rank %1 came last of %2, %3 after the first; together they waited %4.")
                    .arg(met->last)
                    .arg(met->ranks.size())
                    .arg(qt(seconds_text(met->spread)), qt(seconds_text(met->waited)));
}

QString device_place(const Plan& plan, int device) {
  const QString place = coordinates_text(plan.mesh, device);
  return plan.ranks_per_host.size() > 1 ? QObject::tr("%1, host %2").arg(place).arg(plan.host_of(device)) : place;
}

QString device_tip(const Plan& plan, int device) {
  const int stage = plan.stage_of(device);
  const QString count = counted_text(qsizetype(plan.devices_of_stage(stage).size()), "device");
  return QObject::tr("device %1: %2").arg(device).arg(device_place(plan, device)) + '\n' +
         (plan.program.stages > 1 ? QObject::tr("Predicted alike for %1 of stage %2.").arg(count).arg(stage)
                                  : QObject::tr("Predicted alike for %1.").arg(count));
}

QString range_facts(std::span<const TimelineRow> all_rows, std::pair<double, double> range) {
  const auto [from, to] = range;
  const bool is_measured = std::ranges::any_of(all_rows, [](const TimelineRow& row) { return row.rank >= 0; });
  PartSeconds sum{};
  int64_t slices = 0, rows = 0;
  for (const TimelineRow& row : all_rows) {
    if ((is_measured && row.rank < 0) || !row.is_of_time() || row.device >= 0) continue;
    const PartSeconds part = row.track->seconds(from, to);
    for (size_t i = 0; i < time_parts; ++i) sum[i] += part[i];
    const auto [first, last] = row.track->slices_in(from, to);
    slices += last - first;
    ++rows;
  }
  const double all = (to - from) * double(rows);
  const double idle = std::max(0.0, all - sum[0] - sum[1] - sum[2]);
  QStringList shares;
  for (const auto& [text, part] : {std::pair(QObject::tr("local work"), sum[0]),
                                   {QObject::tr("transfer"), sum[1]},
                                   {QObject::tr("waiting"), sum[2]},
                                   {QObject::tr("nothing"), idle}})
    if (part > 0) shares << QString("%1 %2").arg(text, qt(share_text(part / all)));
  return QObject::tr("%1 from %2 on: %3 in %4; %5")
      .arg(qt(seconds_text(to - from)), qt(seconds_text(from)), counted_text(slices, "span", "spans"),
           counted_text(rows, "row"), shares.join(", "));
}

}  // namespace shardscope
