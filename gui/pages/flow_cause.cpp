#include "gui/pages/flow_cause.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

#include "engine/base/units.h"
#include "engine/compile/document_of.h"
#include "gui/document/text.h"
#include "gui/look/filled_layout.h"
#include "gui/workspace/line_edits.h"

namespace shardscope {
namespace {

constexpr int most_lines = 5;  // of the list, before it scrolls

QLabel* make_label(QWidget* parent, const char* object) {
  auto* label = new QLabel(parent);
  label->setObjectName(object);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  return label;
}

QString change_text(double after, double before, std::string (*format)(double)) {
  return QString("%1 (%2)").arg(qt(format(after)), qt(signed_text(after - before, format)));
}

}  // namespace

FlowCause::FlowCause(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      title_(make_label(this, "causeTitle")),
      cause_(make_label(this, "causeText")),
      answer_(make_label(this, "causeAnswer")),
      found_(new QTreeWidget(this)),
      search_(new QPushButton(tr("Find an edit that avoids it"), this)),
      cancel_(new QPushButton(tr("Cancel"), this)),
      apply_(new QPushButton(tr("Apply"), this)),
      progress_(new QProgressBar(this)),
      background_([this](EditSearch search) { take(std::move(search)); }, thread_) {
  setObjectName("flowCause");
  cause_->setProperty("muted", true);
  search_->setObjectName("findEdit");
  search_->setToolTip(
      tr("Plans every change of a single spec of the arrays involved and of every line of the file's specs, and lists "
         "those that make this reshard needless, the shortest predicted step first."));
  cancel_->setObjectName("cancelEdit");
  cancel_->setToolTip(tr("Stop planning."));
  apply_->setObjectName("applyEdit");
  apply_->setToolTip(tr("Change the spec as the selected line says (Enter); undo takes it back."));
  found_->setObjectName("foundEdits");
  found_->setAccessibleName(tr("Edits that avoid it"));
  found_->setHeaderLabels({tr("Edit"), tr("A step"), tr("Memory"), tr("Sent")});
  found_->setRootIsDecorated(false);
  found_->setUniformRowHeights(true);
  found_->setAllColumnsShowFocus(true);
  found_->header()->setStretchLastSection(false);
  found_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  found_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  found_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  progress_->setObjectName("editProgress");
  progress_->setAccessibleName(tr("Candidates that were planned"));
  progress_->setMaximumWidth(160);
  auto* first = filled(new QHBoxLayout, {{title_, 1}, progress_, cancel_, search_});
  auto* second = new QHBoxLayout;
  second->addWidget(answer_, 1);
  second->addWidget(apply_);
  filled(bordered(new QVBoxLayout(this), {10, 6, 10, 8}, 4), {first, cause_, second, found_});
  connect(search_, &QPushButton::clicked, this, &FlowCause::start);
  connect(cancel_, &QPushButton::clicked, this, &FlowCause::cancel);
  connect(apply_, &QPushButton::clicked, this, &FlowCause::apply);
  connect(found_, &QTreeWidget::itemActivated, this, &FlowCause::apply);
  connect(&workspace.planner, &Planner::requested, this, &FlowCause::refresh);
  connect(&workspace.planner, &Planner::delivered, this, &FlowCause::refresh);
  tick_.setInterval(60);
  connect(&tick_, &QTimer::timeout, this, [this] {
    progress_->setRange(0, std::max(1, reported_->candidates.load()));
    progress_->setValue(reported_->planned);
  });
  show_steps(nullptr, {});
}

void FlowCause::show_steps(const std::shared_ptr<const Plan>& plan, const std::vector<StepRef>& steps) {
  if (steps == steps_ && plan == plan_) return;
  background_.cancel();
  result_.reset();
  const Instruction* instruction = plan && !steps.empty() ? find_step(*plan, steps.front()) : nullptr;
  const bool is_reshard = instruction && is_communication(instruction->kind()) && !instruction->moved().empty();
  steps_ = is_reshard ? steps : std::vector<StepRef>();
  plan_ = is_reshard ? plan : nullptr;
  refresh();
}

void FlowCause::refresh() {
  if (plan_ != workspace_.planner.plan()) {
    plan_.reset();
    steps_.clear();
  }
  if (plan_ != workspace_.planner.plan() || !workspace_.planner.is_current()) {
    background_.cancel();
    result_.reset();
  }
  const Instruction* instruction = plan_ && !steps_.empty() ? find_step(*plan_, steps_.front()) : nullptr;
  setVisible(instruction);
  const bool searching = background_.is_busy();
  searching ? tick_.start() : tick_.stop();
  if (!instruction) return;
  QString title = QString("<b>%1</b>").arg(qt(plan_->instruction_name(*instruction)).toHtmlEscaped());
  if (steps_.size() > 1) title += tr(" \u00d7 %1 layers").arg(steps_.size());
  title_->setText(title);
  const QString cause = qt(plan_->cause(*instruction));
  const QString pins = deciding_text(*plan_, *instruction);
  cause_->setText(pins.isEmpty() ? short_cause(cause) : tr("%1. Decided by %2").arg(short_cause(cause), pins));
  cause_->setToolTip(cause);
  progress_->setVisible(searching);
  cancel_->setVisible(searching);
  search_->setVisible(!searching && !result_);
  search_->setEnabled(workspace_.planner.is_current() && plan_ == workspace_.planner.plan());
  show_result();
}

void FlowCause::start() {
  if (!workspace_.planner.is_current() || plan_ != workspace_.planner.plan() || steps_.empty()) return;
  reported_ = std::make_shared<EditProgress>();
  progress_->setRange(0, 1);
  progress_->setValue(0);
  progress_->setFormat(tr("%v of %m planned"));
  background_.make([source = workspace_.planner.source(), plan = plan_, steps = steps_, reported = reported_](
                       const std::stop_token& stop) { return find_edit(source, *plan, steps, stop, *reported); });
  refresh();
}

void FlowCause::cancel() {
  background_.cancel();
  refresh();
}

void FlowCause::take(EditSearch search) {
  result_ = std::move(search);
  refresh();
}

void FlowCause::show_result() {
  const bool found = result_ && !result_->removing.empty();
  apply_->setVisible(found);
  found_->setVisible(found);
  answer_->setVisible(result_.has_value());
  if (!result_) return;
  if (!found) {
    answer_->setText(result_->candidates == 0
                         ? tr("No spec of a parameter or an activation is involved.")
                         : tr("No change of a single spec makes it needless; tried: %1.").arg(result_->candidates));
    return;
  }
  answer_->setText(tr("Edits that avoid it: %1, of %2 planned").arg(result_->removing.size()).arg(result_->candidates));
  found_->clear();
  const PlanTotals& now = plan_->totals;
  for (const auto& [edit, then] : result_->removing) {
    auto* line =
        new QTreeWidgetItem(found_, {edit.text, change_text(then.seconds_per_step, now.seconds_per_step, seconds_text),
                                     change_text(double(then.device_bytes), double(now.device_bytes), bytes_text),
                                     change_text(then.wire_bytes_per_device, now.wire_bytes_per_device, bytes_text)});
    line->setToolTip(0, edit.text);
  }
  found_->setCurrentItem(found_->topLevelItem(0));
  const int lines = std::min(most_lines, found_->topLevelItemCount());
  found_->setFixedHeight(found_->header()->sizeHint().height() + lines * found_->sizeHintForRow(0) +
                         2 * found_->frameWidth());
}

void FlowCause::apply() {
  const int chosen = found_->indexOfTopLevelItem(found_->currentItem());
  if (!result_ || chosen < 0 || workspace_.document.config() != document_of(*plan_)) return;
  const SpecEdit edit = result_->removing[static_cast<size_t>(chosen)].edit;
  workspace_.document.edit(edit.config, edit.text);
}

}  // namespace shardscope
