#include "gui/pages/timeline_search.h"

#include <QHBoxLayout>
#include <QKeyEvent>

#include "gui/look/filled_layout.h"

namespace shardscope {

TimelineSearch::TimelineSearch(QWidget* parent)
    : QWidget(parent), text_(new QLineEdit(this)), count_(new QLabel(this)) {
  setObjectName("timelineSearch");
  text_->setObjectName("timelineSearchText");
  text_->setPlaceholderText(tr("Find an instruction: einsum, all-gather, Dense_0"));
  text_->setAccessibleName(tr("Find an instruction"));
  text_->setClearButtonEnabled(true);
  count_->setObjectName("timelineSearchCount");
  count_->setProperty("muted", true);
  const auto button = [this](const char* name, Qt::ArrowType arrow, const QString& tip) {
    auto* made = new QToolButton(this);
    made->setObjectName(name);
    made->setArrowType(arrow);
    made->setAutoRaise(true);
    made->setToolTip(tip);
    made->setAccessibleName(tip);
    return made;
  };
  auto* previous = button("timelinePrevious", Qt::UpArrow, tr("The one before (Shift+Enter)"));
  auto* next = button("timelineNext", Qt::DownArrow, tr("The next one (Enter)"));
  filled(bordered(new QHBoxLayout(this), {8, 0, 8, 4}, 4), {{text_, 1}, count_, previous, next});
  connect(text_, &QLineEdit::textChanged, this, &TimelineSearch::search);
  connect(previous, &QToolButton::clicked, this, &TimelineSearch::previousWanted);
  connect(next, &QToolButton::clicked, this, &TimelineSearch::nextWanted);
  hide();
}

void TimelineSearch::show_plan(std::shared_ptr<const Plan> plan) {
  if (plan_ == plan) return;
  plan_ = std::move(plan);
  words_.set_plan(plan_);
  search();
}

void TimelineSearch::begin() {
  show();
  text_->setFocus(Qt::ShortcutFocusReason);
  text_->selectAll();
  search();
}

int TimelineSearch::count() const {
  size_t count = 0;
  for (const std::vector<int>& stage : found_) count += stage.size();
  return static_cast<int>(count);
}

void TimelineSearch::search() {
  found_.clear();
  const QStringList wanted = text_->text().split(' ', Qt::SkipEmptyParts);
  if (plan_ && isVisibleTo(parentWidget()) && !wanted.isEmpty()) {
    InstructionTable<char> is_found;
    for (int task = 0; task < std::ssize(plan_->program.tasks); ++task) {
      std::vector<char>& own = is_found.tasks.emplace_back(plan_->program.tasks[size_t(task)].instructions.size());
      for (int step = 0; step < std::ssize(own); ++step) own[size_t(step)] = words_.has({task, step}, wanted);
    }
    for (int stage = 0; stage < plan_->program.stages; ++stage) {
      std::vector<int>& found = found_.emplace_back();
      for (const TaskRun& run : plan_->program.main(stage).runs) {
        const std::vector<char>& own = is_found.tasks[size_t(run.task)];
        const Task& task = plan_->program.tasks[size_t(run.task)];
        for (int place = 0; place < task.size(); ++place)
          if (own[size_t(task.order.index(place))] && !task.issued(place).as<CollectiveStart>())
            found.push_back(run.first + place);
      }
    }
  }
  show_current(-1);
  emit foundChanged();
}

void TimelineSearch::show_current(int current) {
  count_->setText(found_.empty() ? QString()
                  : count() == 0 ? tr("none")
                  : current < 0  ? tr("%1 found").arg(count())
                                 : tr("%1 of %2").arg(current + 1).arg(count()));
}

void TimelineSearch::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (event->modifiers().testFlag(Qt::ShiftModifier)) emit previousWanted();
      else emit nextWanted();
      return;
    case Qt::Key_Escape:
      hide();
      search();
      return emit ended();
    default: QWidget::keyPressEvent(event);
  }
}

}  // namespace shardscope
