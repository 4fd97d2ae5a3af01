#include "gui/window/problem_strip.h"

#include <QEvent>
#include <algorithm>
#include <ranges>

#include "engine/machine/chosen_machine.h"
#include "engine/mesh/device_count.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/wrapped_label.h"

namespace shardscope {
namespace {

constexpr size_t most_offered = 3;
constexpr double least_beside = 2.5;  // widths of the buttons from which on the text stands beside them

// Those next to the size that is wrong, the nearest first.
std::vector<int64_t> nearest(std::vector<int64_t> sizes, int64_t size) {
  std::ranges::stable_sort(sizes, {}, [&](int64_t one) { return std::abs(one - size); });
  if (sizes.size() > most_offered) sizes.resize(most_offered);
  return sizes;
}

// What its machine would say, were it large enough for the mesh; nothing where it is, or does not say it by a number.
std::optional<MachineSize> larger_machine(const RunConfig& config) {
  const std::string larger = with_devices(config.machine, device_count(config.mesh_axes));
  return larger == config.machine ? std::nullopt : machine_size(larger);
}

}  // namespace

ProblemStrip::ProblemStrip(Workspace& workspace, LegalSizes& sizes, QWidget* parent)
    : QFrame(parent),
      workspace_(workspace),
      sizes_(sizes),
      text_(new WrappedLabel(this)),
      fixes_(new QHBoxLayout),
      buttons_(new QHBoxLayout),
      all_parts_(new QBoxLayout(QBoxLayout::LeftToRight, this)) {
  setObjectName("problemStrip");
  setAutoFillBackground(true);
  text_->setObjectName("banner");
  undo_ = add_button(tr("Undo"), tr("Takes the last edit back (Ctrl+Z)."));
  all_ = add_button(tr("All problems"), tr("Lists them, with what would be right (Ctrl+Shift+M)."));
  all_parts_->setContentsMargins(12, 6, 8, 6);
  all_parts_->addWidget(text_, 1);
  all_parts_->addLayout(buttons_);
  buttons_->addStretch();
  buttons_->addLayout(fixes_);
  buttons_->addWidget(undo_);
  buttons_->addWidget(all_);
  connect(undo_, &QToolButton::clicked, &workspace.document.undo_stack(), &QUndoStack::undo);
  connect(all_, &QToolButton::clicked, this, &ProblemStrip::allWanted);
  connect(&workspace.planner, &Planner::delivered, this, &ProblemStrip::refresh);
  connect(&sizes, &LegalSizes::known, this, &ProblemStrip::offer_fixes);
  refresh();
}

QToolButton* ProblemStrip::add_button(const QString& text, const QString& tip) {
  auto* button = new QToolButton(this);
  button->setText(text);
  button->setToolTip(tip);
  return button;
}

// What does not fit is left out from the end, the list of problems (which has a key) before the first fix.
void ProblemStrip::fit_to(const QSize& room) {
  const auto width_of = [&](const QWidget* button) { return button->sizeHint().width() + buttons_->spacing(); };
  const QMargins margins = all_parts_->contentsMargins();
  int left = room.width() - margins.left() - margins.right();
  const auto take = [&](QToolButton* button) {
    left -= width_of(button);
    if (button->isHidden() != (left < 0)) button->setVisible(left >= 0);
  };
  if (!undo_->isHidden()) left -= width_of(undo_);
  if (!offered_.empty()) take(offered_.front());
  take(all_);
  std::ranges::for_each(offered_ | std::views::drop(1), take);
  const bool is_wide = room.width() > least_beside * buttons_->sizeHint().width();
  all_parts_->setDirection(is_wide ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  const int height = layout()->totalHeightForWidth(room.width());
  setGeometry(0, room.height() - height, room.width(), height);
}

bool ProblemStrip::event(QEvent* event) {
  if (event->type() == QEvent::LayoutRequest && parentWidget()) fit_to(parentWidget()->size());
  return QFrame::event(event);
}

void ProblemStrip::refresh() {
  const std::vector<Error>& errors = workspace_.planner.errors();
  setVisible(!errors.empty());
  if (errors.empty()) return offer_fixes();
  const Error& first = errors.front();
  QString text = QString("<b>%1</b>").arg(qt(first.message).toHtmlEscaped());
  if (!first.place.empty()) text.prepend(qt(to_string(first.place)).toHtmlEscaped() + ": ");
  if (!first.hint.empty()) text += " \u2014 " + qt(first.hint).toHtmlEscaped();
  if (errors.size() > 1) text += tr(" (and %1 more)").arg(errors.size() - 1);
  if (workspace_.planner.plan()) text += tr("<br>The views show the last good plan.");
  text_->setText(text);
  undo_->setVisible(workspace_.document.undo_stack().canUndo());
  for (size_t axis = 0; axis < workspace_.document.config().mesh_axes.size(); ++axis)
    sizes_.request(workspace_.document.shared_config(), static_cast<int>(axis));
  offer_fixes();
  raise();
}

void ProblemStrip::offer(const QString& text, const QString& tip, std::function<void()> edit) {
  QToolButton* button = add_button(text, tip);
  connect(button, &QToolButton::clicked, this, [this, edit = std::move(edit)] {
    workspace_.document.close_edit();
    edit();
  });
  fixes_->addWidget(button);
  offered_.push_back(button);
}

void ProblemStrip::offer_fixes() {
  for (QToolButton* button : offered_) button->deleteLater();
  offered_.clear();
  if (workspace_.planner.errors().empty()) return;
  const RunConfig& config = workspace_.document.config();
  if (const auto larger = larger_machine(config))
    offer(QString("%1 = %2").arg(qt(larger->key)).arg(larger->number),
          tr("As many %1 of the machine as the mesh needs.").arg(qt(larger->key)),
          [this] { enlarge_machine(workspace_.document); });
  std::vector<std::vector<int64_t>> legal, sizes;  // by axis
  for (size_t axis = 0; axis < config.mesh_axes.size(); ++axis) {
    legal.push_back(sizes_.of(static_cast<int>(axis)).value_or(std::vector<int64_t>()));
    sizes.push_back(nearest(legal.back(), config.mesh_axes[axis].size));
  }
  for (size_t place = 0; place < most_offered; ++place)
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (place >= sizes[axis].size()) continue;
      const int64_t size = sizes[axis][place];
      const QString name = qt(config.mesh_axes[axis].name);
      offer(QString("%1 = %2").arg(name).arg(size),
            tr("%1 may be %2: click to take %3.").arg(name, sizes_text(legal[axis])).arg(size),
            [this, axis, size, known = config.mesh_axes[axis].name] {
              Document& document = workspace_.document;
              const RunConfig& now = document.config();  // since then perhaps another one
              const int number = static_cast<int>(axis);
              if (axis >= now.mesh_axes.size() || now.mesh_axes[axis].name != known) return;
              if (!now.strategy) return set_axis_size(document, number, size);
              set_strategy(document, *with_axis_size(now, number, size).strategy, qt(known));
            });
    }
  fit_to(parentWidget()->size());
}

}  // namespace shardscope
