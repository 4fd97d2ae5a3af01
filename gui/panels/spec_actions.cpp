#include "gui/panels/spec_actions.h"

#include <QClipboard>
#include <QGuiApplication>
#include <algorithm>

#include "engine/base/path.h"
#include "gui/document/spec_batch.h"
#include "gui/document/spec_line.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

// The names of all parameters as one pattern: what their paths begin with, then anything.
std::string common_names(const std::vector<ArrayRef>& arrays) {
  std::vector<std::string> common;
  int count = 0;
  for (const ArrayRef& array : arrays) {
    const auto* parameter = std::get_if<ParameterRef>(&array);
    if (!parameter) continue;
    if (++count == 1) {
      common = parameter->path;
      continue;
    }
    const auto end = std::ranges::mismatch(common, parameter->path).in1;
    common.erase(end, common.end());
  }
  if (count > 1) common.push_back("**");
  return join_path(common);
}

}  // namespace

SpecActions::SpecActions(Workspace& workspace, QWidget& view, std::function<std::vector<ArrayRef>()> arrays)
    : QObject(&view), workspace_(workspace), view_(view), arrays_(std::move(arrays)) {
  copy_ = add("copySpec", tr("&Copy spec"), tr("Copies the spec as JAX writes it, P('data', None)."),
              QKeySequence::Copy, &SpecActions::copy);
  paste_ = add("pasteSpec", tr("&Paste spec"), tr("Gives all selected arrays the copied spec."), QKeySequence::Paste,
               &SpecActions::paste);
  swap_ = add("swapDimensions", tr("&Swap dimensions 0 and 1"),
              tr("What splits one dimension splits the other, in all selected arrays."), QKeySequence("Ctrl+T"),
              &SpecActions::swap_first);
  all_layers_ = add("allLayers", tr("Same in all &layers"),
                    tr("Gives the array this spec in every layer, by one line of the run file."),
                    QKeySequence("Ctrl+L"), &SpecActions::apply_to_all_layers);
  rule_ = add("ruleForThese", tr("&Rule for these\u2026"), tr("Adds a rule for the names of the selected arrays."),
              QKeySequence("Ctrl+Shift+N"), &SpecActions::add_rule_for_them);
  swaps_.setTitle(tr("S&wap others"));
  all_.insert(all_.indexOf(swap_) + 1, swaps_.menuAction());
  connect(&swaps_, &QMenu::aboutToShow, this, &SpecActions::fill_swaps);
}

QAction* SpecActions::add(const QString& name, const QString& text, const QString& tip, const QKeySequence& key,
                          void (SpecActions::*act)()) {
  auto* made = new QAction(text, this);
  made->setObjectName(name);
  made->setToolTip(tip);
  made->setShortcut(key);
  made->setShortcutContext(Qt::WidgetShortcut);
  connect(made, &QAction::triggered, this, act);
  view_.addAction(made);
  all_ << made;
  return made;
}

// 0 where an edit of its spec means nothing.
size_t SpecActions::rank_of(const ArrayRef& array) const {
  const auto* parameter = std::get_if<ParameterRef>(&array);
  const ParameterInfo* info = parameter ? workspace_.planner.find_parameter(parameter->path) : nullptr;
  if (info) return info->type.shape.size();
  const std::optional<ArrayFacts> facts = has_spec(array) ? array_facts(workspace_, array) : std::nullopt;
  return facts ? facts->shape.size() : 0;
}

void SpecActions::refresh() {
  std::vector<ArrayRef> chosen = arrays_();
  size_t largest = 0;
  std::erase_if(chosen, [&](const ArrayRef& array) {
    const size_t rank = rank_of(array);
    largest = std::max(largest, rank);
    return rank == 0;
  });
  copy_->setEnabled(!chosen.empty());
  paste_->setEnabled(!chosen.empty());
  swap_->setEnabled(largest > 1);
  swaps_.menuAction()->setVisible(largest > 2);
  const auto* one = chosen.size() == 1 ? std::get_if<ParameterRef>(&chosen.front()) : nullptr;
  all_layers_->setEnabled(one && !in_other_layers(workspace_.planner.parameters(), one->path).empty());
  rule_->setEnabled(!common_names(chosen).empty());
}

void SpecActions::copy() {
  QStringList lines;
  for (const ArrayFacts& target : targets()) lines << spec_text(target.spec, target.shape.size());
  lines.removeDuplicates();
  if (!lines.isEmpty()) QGuiApplication::clipboard()->setText(lines.join('\n'));
}

void SpecActions::paste() {
  const QString text = QGuiApplication::clipboard()->text();
  if (const QString fault = spec_fault(text); !fault.isEmpty())
    return workspace_.document.tell(tr("The clipboard has no spec: %1").arg(fault));
  if (const std::vector<ArrayFacts> chosen = targets(); !chosen.empty())
    give_spec(workspace_, chosen, parse_spec(text));
}

void SpecActions::swap_first() { swap_dims(workspace_, targets(), 0, 1); }

void SpecActions::fill_swaps() {
  swaps_.clear();
  int rank = 0;
  for (const ArrayFacts& target : targets()) rank = std::max(rank, static_cast<int>(target.shape.size()));
  add_swaps(swaps_, rank, workspace_, [this] { return targets(); });
}

void SpecActions::apply_to_all_layers() {
  if (const std::vector<ArrayRef> chosen = arrays_(); chosen.size() == 1) give_all_layers(workspace_, chosen.front());
}

void SpecActions::add_rule_for_them() {
  const std::string names = common_names(arrays_());
  if (names.empty()) return;
  const size_t index = workspace_.document.config().sharding.rules.size();
  add_rule(workspace_.document, index, names);
  emit ruleAdded(qt(rule_place(index)));
}

}  // namespace shardscope
