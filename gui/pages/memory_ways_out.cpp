#include "gui/pages/memory_ways_out.h"

#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/in_picture.h"

namespace shardscope {
namespace {

const char* const rule = "memory";
const QString search_link = "search:";

QString settings_text(const Settings& settings) {
  QStringList list;
  for (const std::string& setting : settings) list << qt(setting);
  return list.join(", ");
}

QString way(const Fix& fix, size_t index) {
  return MemoryWaysOut::tr("<a href=\"%1\">%2</a> (a step of %3, %4)")
      .arg(index)
      .arg(settings_text(fix.settings).toHtmlEscaped(), qt(seconds_text(fix.after.seconds)),
           qt(bytes_text(double(fix.after.bytes))));
}

// Links to a search on the devices that there are, and on so many times as many that the excess would be gone.
QString search_links(int64_t devices, double excess) {
  int64_t more = 2 * devices;
  while (double(more) < excess * double(devices) && more < Mesh::max_devices) more *= 2;
  QStringList links;
  for (const int64_t count : {devices, more})
    if (count <= Mesh::max_devices)
      links << QString("<a href=\"%1%2\">%3</a>").arg(search_link).arg(count).arg(counted_text(count, "device"));
  return MemoryWaysOut::tr("Search strategies on %1.").arg(links.join(MemoryWaysOut::tr(" or ")));
}

}  // namespace

MemoryWaysOut::MemoryWaysOut(Workspace& workspace, QWidget* parent) : WrappedLabel(parent), workspace_(workspace) {
  setObjectName("memoryWaysOut");
  setAccessibleName(tr("Ways to make the plan fit"));
  setTextFormat(Qt::RichText);
  setTextInteractionFlags(Qt::TextBrowserInteraction);
  setContentsMargins(10, 4, 10, 4);
  setToolTip(tr("Each is planned. A link changes the run file; undo takes it back."));
  connect(this, &QLabel::linkActivated, this, &MemoryWaysOut::apply);
  connect(&workspace.findings, &Findings::changed, this, &MemoryWaysOut::refresh);
  connect(&workspace.planner, &Planner::delivered, this, &MemoryWaysOut::refresh);
  connect(&look(), &Look::changed, this, &MemoryWaysOut::refresh);
  refresh();
}

std::optional<size_t> MemoryWaysOut::place_of_finding() const {
  const std::vector<Finding>& findings = workspace_.findings.list();
  const auto found = std::ranges::find(findings, rule, &Finding::rule);
  return found == findings.end() ? std::nullopt : std::optional(size_t(found - findings.begin()));
}

void MemoryWaysOut::refresh() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const int64_t limit = plan ? plan->memory_limit_bytes : 0, needed = plan ? plan->totals.device_bytes : 0;
  setVisible(limit > 0 && needed > limit);
  if (limit == 0 || needed <= limit) return;
  const auto [more, less] = compared_bytes(double(needed), double(limit));
  QString text = in_color(theme().error,
                          tr("<b>Does not fit:</b> the heaviest device needs %1 and has %2.").arg(qt(more), qt(less)));
  const std::optional<size_t> place = place_of_finding();
  const Finding* found = place ? &workspace_.findings.list()[*place] : nullptr;
  if (found && found->fix) {
    QStringList ways{way(*found->fix, 0)};
    for (size_t i = 0; i < found->other_fixes.size(); ++i) ways << way(found->other_fixes[i], i + 1);
    text += " " + tr("Ways out: %1.").arg(ways.join("; "));
  } else if (workspace_.findings.is_priced()) {
    const QString advice = found ? qt(found->no_fix) : QString();
    text +=
        " " + tr("No single setting makes it fit%1.").arg(advice.isEmpty() ? QString() : ": " + advice.toHtmlEscaped());
  } else if (!is_in_picture(*this)) {
    text += " " + tr("Planning ways out\u2026");
  }
  if (!is_in_picture(*this) && workspace_.planner.is_current())
    text += " " + search_links(plan->mesh.device_count(), double(needed) / double(limit));
  setText(text);
}

void MemoryWaysOut::apply(const QString& link) {
  if (link.startsWith(search_link)) return emit searchWanted(link.sliced(search_link.size()).toLongLong());
  if (const std::optional<size_t> place = place_of_finding()) workspace_.findings.apply(*place, link.toULongLong());
}

}  // namespace shardscope
