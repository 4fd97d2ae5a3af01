#include "gui/pages/layout_page.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"

namespace shardscope {
namespace {

constexpr size_t most_offered = 40;

bool is_replayable(const Instruction* instruction) { return instruction && can_replay(*instruction); }

}  // namespace

LayoutPage::LayoutPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      picker_(new LayoutArrayPicker(workspace, this)),
      offer_(new QToolButton(this)),
      menu_(new QMenu(offer_)),
      pins_(new LayoutPins(this)),
      constraint_(new LayoutConstraint(workspace, this)),
      tools_(new QWidget(this)),
      stack_(new QStackedWidget(this)),
      view_(new LayoutView(workspace)),
      replay_(new ReplayView(workspace)) {
  setObjectName("layoutPage");
  offer_->setObjectName("replayOffer");
  offer_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  offer_->setPopupMode(QToolButton::MenuButtonPopup);
  offer_->setMenu(menu_);
  offer_->setIcon(themed_icon("train"));
  auto* first = new QHBoxLayout;
  first->setContentsMargins(0, 0, 0, 0);
  first->addWidget(picker_, 1);
  first->addWidget(offer_);
  filled(bordered(new QVBoxLayout(tools_), {12, 6, 12, 0}, 4), {first, pins_, constraint_});
  stack_->addWidget(view_);
  stack_->addWidget(replay_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(tools_);
  layout->addWidget(stack_, 1);
  setFocusProxy(view_);

  connect(offer_, &QToolButton::clicked, this, &LayoutPage::replay_selected);
  connect(menu_, &QMenu::aboutToShow, this, &LayoutPage::fill_menu);
  connect(replay_, &ReplayView::closed, this, &LayoutPage::close_replay);
  connect(pins_, &LayoutPins::pinned, this, [this] { view_->set_pins(pins_->pins()); });
  connect(&workspace.planner, &Planner::delivered, this, [this] {
    close_replay();
    show_tools();
  });
  connect(&workspace.selection, &Selection::arrayChanged, this, [this] {
    close_replay();
    show_tools();
  });
  connect(&workspace.selection, &Selection::stepChanged, this, &LayoutPage::show_tools);
  connect(&workspace.document, &Document::configChanged, this, &LayoutPage::show_tools);
  connect(&look(), &Look::changed, this, [this] { offer_->setIcon(themed_icon("train")); });
}

void LayoutPage::showEvent(QShowEvent*) { show_tools(); }

void LayoutPage::hideEvent(QHideEvent*) { close_replay(); }

void LayoutPage::show_tools() {
  if (!isVisible()) return;
  const std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  pins_->show_shape(facts && facts->sharding ? facts->shape : Shape());
  view_->set_pins(pins_->pins());
  constraint_->show_array(facts);
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const std::vector<StepRef> steps = replayable();
  offer_->setEnabled(!steps.empty());
  offer_->setText(tr("Replay"));
  const QString how = tr("Plays who sends which piece to whom (Ctrl+Shift+R)");
  offer_->setToolTip(steps.empty() ? tr("No collective moves this array. Select one on any page to replay it.")
                                   : how + "\n" + step_text(*plan, steps.front()));
}

// The selected step first, then those of the selected array.
std::vector<StepRef> LayoutPage::replayable() const {
  std::vector<StepRef> steps;
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan) return steps;
  const std::optional<StepRef> selected = workspace_.selection.step();
  if (is_replayable(find_step(*plan, selected))) steps.push_back(*selected);
  if (const std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array()))
    for (const StepRef step : collectives_of(workspace_.planner, *facts))
      if (step != selected && is_replayable(find_step(*plan, step))) steps.push_back(step);
  return steps;
}

QString LayoutPage::step_text(const Plan& plan, StepRef id) const {
  const Instruction& instruction = *find_step(plan, id);
  return QString("%1: %2").arg(qt(name(instruction.phase)), short_name(plan.instruction_name(instruction)));
}

void LayoutPage::fill_menu() {
  menu_->clear();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  std::vector<StepRef> steps = replayable();
  steps.resize(std::min(steps.size(), most_offered));
  for (const StepRef step : steps) menu_->addAction(step_text(*plan, step), this, [this, step] { open_replay(step); });
}

bool LayoutPage::replay_selected() {
  const std::vector<StepRef> steps = replayable();
  return !steps.empty() && open_replay(steps.front());
}

bool LayoutPage::open_replay(StepRef id) {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const Instruction* instruction = plan ? find_step(*plan, id) : nullptr;
  if (!is_replayable(instruction)) return false;
  const std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  const auto concerns = [&](int value) {
    return facts && std::ranges::count(facts->graph_values, plan->program.values[value].graph_value) > 0;
  };
  const std::span<const int> values = moved_values(*instruction);
  const auto own = std::ranges::find_if(values, concerns);
  const int operand = own == values.end() ? 0 : static_cast<int>(own - values.begin());
  std::optional<Replay> made = make_replay(plan, id, operand);
  if (!made) return false;
  replay_->open(std::move(*made));
  tools_->hide();
  stack_->setCurrentWidget(replay_);
  replay_->setFocus();
  return true;
}

void LayoutPage::close_replay() {
  if (stack_->currentWidget() != replay_) return;
  const QWidget* keyboard = QApplication::focusWidget();
  const bool had_keyboard = keyboard == replay_ || replay_->isAncestorOf(keyboard);
  replay_->close_replay();
  stack_->setCurrentWidget(view_);
  tools_->show();
  if (had_keyboard) view_->setFocus();
}

}  // namespace shardscope
