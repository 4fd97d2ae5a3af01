#include "gui/window/verdict.h"

#include <QTextDocumentFragment>
#include <algorithm>

#include "engine/base/units.h"
#include "engine/plan/prediction.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr double billion = 1e9;

// What the step time means, and how far such predictions were from measurements.
QString utilisation_text(const Plan& plan, const PlanIndex& index) {
  const Utilisation& use = index.utilisation;
  QString text;
  if (use.mfu() > 0)
    text += "\n" + Verdict::tr("MFU %1 %, HFU %2 %").arg(100 * use.mfu(), 0, 'f', 1).arg(100 * use.hfu(), 0, 'f', 1);
  if (use.tokens > 0) {
    text += "\n" + Verdict::tr("tokens a second and device: %1; device hours for 10\u2079 tokens: %2")
                       .arg(use.tokens_per_second() / use.devices, 0, 'g', 4)
                       .arg(use.device_hours(billion), 0, 'g', 4);
    if (const double price = plan.machine.price_per_device_hour; price > 0)
      text += Verdict::tr(", which cost %1").arg(use.device_hours(billion) * price, 0, 'g', 4);
  }
  if (const std::string exposed = to_string(index.exposed); !exposed.empty())
    text += "\n" + Verdict::tr("exposed communication: %1").arg(qt(exposed));
  if (const Evidence& evidence = plan.machine.evidence; evidence.measurements > 0)
    text += "\n" + Verdict::tr("as %1 runs it; mean error %2 % over %3 measurements")
                       .arg(qt(plan.stack.name))
                       .arg(100 * evidence.time_error, 0, 'f', 1)
                       .arg(evidence.measurements);
  else text += "\n" + Verdict::tr("unverified: %1").arg(qt(unverified_text(plan.machine.name, plan.stack.name)));
  return text;
}

QString memory_text(const Plan& plan) {
  const PredictedRange range = memory_range(plan);
  QString text = qt(exact_bytes(double(plan.totals.device_bytes)));
  if (range)
    text += "\n" + Verdict::tr("%1 to %2 by the mean error of %3, %4 %")
                       .arg(qt(bytes_text(range->first)), qt(bytes_text(range->second)))
                       .arg(counted_text(plan.machine.evidence.memory_measurements, "measurement"))
                       .arg(100 * plan.machine.evidence.memory_error, 0, 'f', 1);
  else if (plan.machine.device.kind == DeviceKind::own)
    text += "\n" + Verdict::tr("unverified: 0 measurements of memory on %1 as %2 runs it")
                       .arg(qt(plan.machine.name), qt(plan.stack.name));
  return text;
}

// ", 10.5 s to 11.6 s".
QString range_text(const Plan& plan) {
  const PredictedRange range = seconds_range(plan);
  if (!range) return {};
  return Verdict::tr(", %1 to %2").arg(qt(seconds_text(range->first)), qt(seconds_text(range->second)));
}

// "MFU 24.7 %, 956 ms exposed, 7,465 for 10^9 tokens": what is known of it.
QString use_text(const Plan& plan, const Utilisation& use) {
  QStringList parts;
  if (use.mfu() > 0) parts << Verdict::tr("MFU %1").arg("<b>" + qt(share_text(use.mfu())) + "</b>");
  if (const double exposed = plan.simulation.most_exposed(); exposed > 0)
    parts << Verdict::tr("%1 exposed").arg("<b>" + qt(seconds_text(exposed)) + "</b>");
  if (const double price = plan.machine.price_per_device_hour; price > 0 && use.tokens > 0)
    parts << Verdict::tr("%1 for 10\u2079 tokens")
                 .arg("<b>" + QString::number(use.device_hours(billion) * price, 'g', 4) + "</b>");
  return parts.join(", ");
}

constexpr int difference_ms = 6000;
constexpr size_t most_reported = 6;  // warnings in a tool tip
enum Field { state_field, memory_field, moved_field, time_field, use_field, planning_field, field_count };

QString bold(const QString& text) { return "<b>" + text + "</b>"; }

}  // namespace

Verdict::Verdict(Workspace& workspace, QStatusBar* bar) : QObject(bar), workspace_(workspace) {
  for (int i = 0; i < field_count; ++i) {
    auto* label = new QLabel(bar);
    label->setContentsMargins(6, 0, 6, 0);
    label->setTextFormat(Qt::RichText);
    label->setObjectName(QString("verdict%1").arg(i));
    fields_.push_back(label);
    i == planning_field ? bar->addPermanentWidget(label) : bar->addWidget(label);
  }
  fade_.setSingleShot(true);
  connect(&fade_, &QTimer::timeout, this, [this] { refresh(false); });
  connect(&workspace.planner, &Planner::requested, this, [this] { refresh(false); });
  connect(&workspace.planner, &Planner::delivered, this, [this] {
    refresh(true);
    fade_.start(difference_ms);
  });
  connect(&workspace.findings, &Findings::changed, this, [this] { refresh(fade_.isActive()); });
  connect(&look(), &Look::changed, this, [this] { refresh(fade_.isActive()); });
  refresh(false);
}

void Verdict::show_number(int field, double now, double before, bool with_difference, std::string (*format)(double),
                          const QString& sentence, const QString& exact) {
  QString text = sentence.arg(bold(qt(format(now))));
  const double change = now - before;
  if (with_difference && std::abs(change) > 1e-9 * std::abs(now)) {
    const QColor color = change < 0 ? theme().good : theme().warning;
    text += " " + in_color(color, "(" + qt(signed_text(change, format)) + ")");
  }
  fields_[field]->setText(text);
  fields_[field]->setToolTip(exact);
  fields_[field]->show();
}

void Verdict::refresh(bool with_difference) {
  const Planner& planner = workspace_.planner;
  const std::shared_ptr<const Plan> plan = planner.plan();
  const std::optional<PlanTotals>& before = planner.previous_totals();
  QLabel* state = fields_[state_field];
  if (planner.is_busy()) {
    state->setText(in_color(theme().muted, QString("planning\u2026")));
  } else if (!planner.errors().empty()) {
    const int count = static_cast<int>(planner.errors().size());
    state->setText(in_color(theme().error, bold(counted_text(count, "problem"))) +
                   (plan ? tr(" \u2014 showing the last good plan") : QString()));
    state->setToolTip(errors_text(planner.errors()));
  } else if (const std::vector<Error> excess = plan ? memory_excess(*plan) : std::vector<Error>(); !excess.empty()) {
    state->setText(in_color(theme().error, bold(tr("does not fit into memory"))));
    state->setToolTip(errors_text(excess));
  } else if (plan && !plan->warnings.empty()) {
    const auto count = static_cast<int>(plan->warnings.size());
    state->setText(in_color(theme().warning, bold(count == 1 ? tr("1 warning") : tr("%1 warnings").arg(count))));
    std::vector<Error> first = plan->warnings;
    first.resize(std::min(first.size(), most_reported));
    state->setToolTip(errors_text(first) + "\n" + tr("Problems (Ctrl+Shift+M) has all."));
  } else if (const std::vector<Finding>& findings = workspace_.findings.list(); plan && !findings.empty()) {
    const auto count = static_cast<int>(findings.size());
    state->setText(in_color(theme().warning, bold(count == 1 ? tr("1 finding") : tr("%1 findings").arg(count))));
    std::vector<Error> first;
    for (const Finding& finding : findings) {
      if (first.size() < most_reported) first.push_back(to_error(finding));
    }
    state->setToolTip(errors_text(first) + "\n" + tr("Problems (Ctrl+Shift+M) has all, with costs and fixes."));
  } else if (plan && workspace_.findings.is_pricing()) {
    state->setText(in_color(theme().muted, tr("checking\u2026")));
    state->setToolTip(tr("Every spec is legal, and the plan fits the mesh. What could be better is being planned."));
  } else if (plan) {
    state->setText(in_color(theme().good, bold("plan ok")));
    state->setToolTip(tr("Every spec is legal, and the plan fits the mesh."));
  }
  if (!plan) {
    for (int i = memory_field; i < field_count; ++i) fields_[i]->hide();
    return;
  }
  const bool difference = with_difference && before && planner.errors().empty();
  const PlanTotals& now = plan->totals;
  const PlanTotals& old = difference ? *before : now;
  show_number(memory_field, double(now.device_bytes), double(old.device_bytes), difference, bytes_text,
              tr("%1 on the heaviest device"), memory_text(*plan));
  show_number(moved_field, now.wire_bytes_per_device, old.wire_bytes_per_device, difference, bytes_text,
              tr("%1 sent a step"),
              tr("%1 sent by each device in a step, %2 a device")
                  .arg(qt(exact_bytes(now.wire_bytes_per_device)), qt(flops_text(now.flops_per_device))));
  const QString facts = tr("predicted for %1: %2 s").arg(qt(plan->machine.name)).arg(now.seconds_per_step, 0, 'f', 6) +
                        utilisation_text(*plan, planner.index());
  show_number(time_field, now.seconds_per_step, old.seconds_per_step, difference, seconds_text,
              tr("about %1 a step") + range_text(*plan), facts);
  const QString use = use_text(*plan, planner.index().utilisation);
  fields_[use_field]->setText(use);
  fields_[use_field]->setToolTip(facts);
  fields_[use_field]->setVisible(!use.isEmpty());
  fields_[planning_field]->setText(tr("%1 to plan").arg(qt(seconds_text(plan->planning_milliseconds / 1000))));
  fields_[planning_field]->show();
}

QString Verdict::text() const {
  QStringList parts;
  for (const QLabel* field : fields_)
    if (!field->isHidden()) parts << QTextDocumentFragment::fromHtml(field->text()).toPlainText();
  return parts.join(" | ");
}

}  // namespace shardscope
