#include "gui/run/run_panel.h"

#include <QHBoxLayout>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/look/steady_tabs.h"
#include "gui/run/checkpoint_tab.h"
#include "gui/run/expert_table.h"
#include "gui/run/log_tab.h"
#include "gui/run/rank_bars.h"
#include "gui/run/run_comparison.h"

namespace shardscope {
namespace {

// Of an optimizer without a schedule; one that changes is a metric and has a curve.
QString constant_rate(const Plan& plan) {
  const Schedule& rate = plan.training.learning_rate;
  const bool is_reported = rate.kind == Schedule::Kind::constant && rate.value > 0;
  return is_reported ? RunPanel::tr("learning rate %1").arg(rate.value) : QString();
}

QScrollArea* scrolled(QWidget* content) {
  auto* area = new QScrollArea;
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidget(content);
  return area;
}

}  // namespace

RunPanel::RunPanel(RunControl& run, Planner& planner, Selection& selection, QWidget* parent)
    : QWidget(parent),
      run_(run),
      planner_(planner),
      state_(new QLabel(this)),
      stale_(new QLabel(this)),
      again_(new QPushButton(tr("Start again"), this)),
      attach_(new QPushButton(tr("Attach"), this)),
      pause_(new QPushButton(this)),
      tabs_(new SteadyTabs(this)),
      curves_(new RunCurves(run, this)),
      history_(new HistoryTab(run, this)),
      scale_(new QCheckBox(tr("log scale"), this)),
      smoothing_(new QSlider(Qt::Horizontal, this)),
      rate_(new QLabel(this)) {
  state_->setObjectName("runState");
  state_->setWordWrap(true);
  stale_->setProperty("muted", true);
  stale_->setText(tr("of another plan than the one shown"));
  again_->setObjectName("startAgain");
  again_->setToolTip(tr("Starts training anew with the plan that is shown."));
  connect(again_, &QPushButton::clicked, this, &RunPanel::startWanted);
  attach_->setObjectName("attach");
  attach_->setToolTip(tr("Watches the run of this file that goes on without a window."));
  connect(attach_, &QPushButton::clicked, this, [this] {
    if (history_->running()) attach(*history_->running());
  });
  pause_->setObjectName("pauseRun");
  pause_->setToolTip(tr("Stops all processes of the run where they are, or lets them go on (F6)."));
  connect(pause_, &QPushButton::clicked, &run, &RunControl::toggle_pause);
  connect(history_, &HistoryTab::attachWanted, this, &RunPanel::attach);
  connect(history_, &HistoryTab::pastChanged, curves_, &RunCurves::set_past);
  connect(history_, &HistoryTab::runningChanged, this, [this] {
    refresh();
    if (history_->running()) emit runFound();
  });
  tabs_->setDocumentMode(true);
  scrolled_curves_ = scrolled(curves_);
  tabs_->addTab(scrolled_curves_, tr("Curves"));
  comparison_ = new RunComparison(run, planner, this);
  tabs_->addTab(comparison_, tr("Predicted and measured"));
  tabs_->addTab(scrolled(new RankBars(run, selection)), tr("Ranks"));
  tabs_->addTab(new ExpertTable(run, this), tr("Experts"));
  auto* checkpoints = new CheckpointTab(run, this);
  connect(checkpoints, &CheckpointTab::resumeWanted, this, &RunPanel::resumeWanted);
  tabs_->addTab(checkpoints, tr("Checkpoints"));
  tabs_->addTab(new LogTab(run, this), tr("Log"));
  tabs_->addTab(history_, tr("History"));

  auto* top = filled(bordered(new QHBoxLayout, {0, 0, 8, 0}),
                     {{state_, 1}, stale_, make_curve_controls(), again_, attach_, pause_});
  auto* corner = new QWidget(this);
  corner->setLayout(top);
  top->setContentsMargins(10, 5, 8, 3);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(corner);
  layout->addWidget(tabs_, 1);
  tabs_->setCurrentWidget(comparison_);  // before the first run the predictions alone
  connect(&run, &RunControl::stateChanged, this, &RunPanel::refresh);
  connect(&run, &RunControl::received, this, &RunPanel::refresh);
  connect(&planner, &Planner::delivered, this, &RunPanel::refresh);
  connect(&look(), &Look::changed, this, &RunPanel::refresh);
  connect(&look(), &Look::changed, curves_, &RunCurves::take_theme);
  refresh();
}

void RunPanel::refresh() {
  const bool failed = run_.state() == RunControl::State::failed;
  if (run_.state() != RunControl::State::idle && !std::exchange(has_run_, true) &&
      tabs_->currentWidget() == comparison_)
    tabs_->setCurrentWidget(scrolled_curves_);
  const bool offers = history_->running() && !run_.is_active();
  state_->setText(in_color(
      failed ? theme().error : theme().text,
      offers ? tr("A run of this file goes on without a window: %1.").arg(history_->running()->label()).toHtmlEscaped()
      : run_.state() == RunControl::State::idle ? tr("Press Train (F5) to train this plan on real ranks.")
                                                : run_.state_text().toHtmlEscaped()));
  again_->setVisible(failed);
  attach_->setVisible(offers);
  pause_->setVisible(run_.can_pause());
  pause_->setText(run_.is_paused() ? tr("Resume") : tr("Pause"));
  rate_->setText(run_.plan() ? constant_rate(*run_.plan()) : QString());
  const std::shared_ptr<const Plan> plan = planner_.plan();
  const uint64_t trained = run_.record().hello ? run_.record().hello->plan_hash : run_.plan() ? run_.plan()->hash : 0;
  stale_->setVisible(trained != 0 && plan && trained != plan->hash);
}

void RunPanel::set_store(RunStore store) {
  run_.set_store(std::move(store));
  history_->refresh();
  refresh();
}

void RunPanel::attach(const StoredRun& run) { run_.attach(run, planner_.plan()); }

QWidget* RunPanel::make_curve_controls() {
  scale_->setObjectName("logScale");
  scale_->setToolTip(tr("The curves' heights on a logarithmic scale; what is not above zero is not drawn then."));
  smoothing_->setObjectName("smoothing");
  smoothing_->setRange(0, 99);
  smoothing_->setFixedWidth(90);
  smoothing_->setToolTip(tr("Smooths the curves of metrics: an exponential moving average, 0 to 0.99 a step."));
  smoothing_->setAccessibleName(tr("Smoothing"));
  guard_field(smoothing_);
  auto* controls = new QWidget(this);
  auto* layout = new QHBoxLayout(controls);
  layout->setContentsMargins(0, 0, 8, 0);
  rate_->setObjectName("learningRate");
  rate_->setProperty("muted", true);
  layout->addWidget(rate_);
  layout->addWidget(scale_);
  layout->addWidget(new QLabel(tr("smoothing"), controls));
  layout->addWidget(smoothing_);
  connect(scale_, &QCheckBox::toggled, curves_, &RunCurves::set_logarithmic);
  connect(smoothing_, &QSlider::valueChanged, curves_, [this](int value) { curves_->set_smoothing(value / 100.0); });
  connect(tabs_, &QTabWidget::currentChanged, controls,
          [this, controls] { controls->setVisible(tabs_->currentWidget() == scrolled_curves_); });
  return controls;
}

}  // namespace shardscope
