#include "gui/workspace/findings.h"

#include <algorithm>

#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/planning/errors_of_work.h"

namespace shardscope {
namespace {

constexpr int pause_ms = 400;  // after an edit, before others are tried

}  // namespace

Findings::Findings(Document& document, Planner& planner, QObject* parent)
    : QObject(parent),
      document_(document),
      planner_(planner),
      job_([this](Outcome outcome) { take(std::move(outcome)); }, thread_) {
  pause_.setSingleShot(true);
  pause_.setInterval(pause_ms);
  connect(&pause_, &QTimer::timeout, this, &Findings::start);
  connect(&planner, &Planner::requested, this, [this] {
    pause_.stop();
    job_.cancel();
  });
  connect(&planner, &Planner::delivered, this, &Findings::receive_plan);
}

int Findings::fixable() const {
  return static_cast<int>(std::ranges::count_if(list_, [](const Finding& finding) { return finding.fix.has_value(); }));
}

QString Findings::text_of(const Finding& finding) {
  const std::string cost = cost_text(finding);
  return qt(finding.message) + (cost.empty() ? QString() : tr(" (%1)").arg(qt(cost)));
}

QString Findings::text_at(const QString& place) const {
  QStringList lines;
  for (const Finding& finding : list_)
    if (is_at(qt(finding.place.path), place)) lines << text_of(finding);
  return lines.join('\n');
}

void Findings::forget() {
  job_.cancel();
  is_priced_ = is_fixing_ = false;
  list_.clear();
  off_.clear();
  errors_.clear();
}

void Findings::receive_plan() {
  forget();
  if (planner_.is_current()) {
    list_ = planner_.index().findings;
    off_ = document_.config().lint.off;
    errors_ = check_lint(document_.config());
    pause_.start();
  }
  emit changed();
}

void Findings::start() {
  if (!planner_.is_current() || !errors_.empty()) return;
  job_.make([plan = planner_.plan(), with_fixes = is_fixing_](const std::stop_token& stop) {
    Outcome outcome;
    outcome.errors = errors_of_work([&] {
      if (with_fixes) outcome.fixed = shardscope::fix_all(*plan, {}, stop);
      else outcome.report = lint(*plan, {}, stop);
    });
    return outcome;
  });
  emit changed();
}

void Findings::take(Outcome outcome) {
  const bool was_fixing = std::exchange(is_fixing_, false);
  errors_ = std::move(outcome.errors);
  if (was_fixing && outcome.fixed && !outcome.fixed->applied.empty()) {
    const auto count = static_cast<int>(outcome.fixed->applied.size());
    document_.edit(std::move(outcome.fixed->config),
                   count == 1 ? tr("fix 1 problem") : tr("fix %1 problems").arg(count));
    return;
  }
  if (!was_fixing && errors_.empty()) {
    list_ = std::move(outcome.report.findings);
    is_priced_ = true;
  }
  emit changed();
}

void Findings::apply(size_t finding, size_t fix) {
  if (finding >= list_.size() || !list_[finding].fix || !planner_.is_current()) return;
  const Finding& found = list_[finding];
  if (fix > found.other_fixes.size()) return;
  const Fix& chosen = fix == 0 ? *found.fix : found.other_fixes[fix - 1];
  document_.close_edit();
  document_.edit(chosen.config, tr("fix %1").arg(qt(found.rule)));
}

void Findings::fix_all() {
  if (!planner_.is_current() || fixable() == 0 || is_fixing()) return;
  document_.close_edit();
  is_fixing_ = true;
  pause_.stop();
  start();
}

}  // namespace shardscope
