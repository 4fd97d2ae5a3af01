#include "gui/pages/timeline_page.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMessageBox>
#include <QRegularExpression>
#include <QRegularExpressionValidator>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/session/machine_correction.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/look/in_picture.h"
#include "gui/planning/disposal.h"

namespace shardscope {

namespace {

std::vector<int> devices_in(const QString& text) {
  std::vector<int> devices;
  for (const QString& word : text.split(QRegularExpression("[,\\s]+"), Qt::SkipEmptyParts)) {
    bool is_number = false;
    const int device = word.toInt(&is_number);
    if (is_number && std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

QString device_numbers(const std::vector<int>& devices) {
  QStringList words;
  for (const int device : devices) words << QString::number(device);
  return words.join(", ");
}

}  // namespace

TimelinePage::TimelinePage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      choice_(new TraceBox(this)),
      coloring_(new QComboBox(this)),
      devices_(new QLineEdit(this)),
      folds_(new QToolButton(this)),
      measures_(new QToolButton(this)),
      searches_(new QToolButton(this)),
      corrects_(new QToolButton(this)),
      search_(new TimelineSearch(this)),
      canvas_(new TimelineCanvas(workspace, this)),
      facts_(new QLabel(this)),
      builder_(new TimelineBuilder(this)),
      prediction_([this](TimelineCanvas::Prediction made) { show_prediction(std::move(made)); }),
      memory_([this](std::vector<MemoryTrack> made) { canvas_->show_memory(std::move(made)); }) {
  setObjectName("timeline");
  setAccessibleName(tr("Predicted and measured time of one training step"));
  filled(bordered(new QVBoxLayout(this), {0, 4, 0, 0}, 2), {make_bar(), search_, {canvas_, 1}, facts_});
  facts_->setObjectName("timelineFacts");
  facts_->setWordWrap(true);
  facts_->setContentsMargins(12, 0, 12, 4);
  facts_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  facts_->setMinimumHeight(2 * facts_->fontMetrics().lineSpacing() + 6);
  facts_->setAlignment(Qt::AlignLeft | Qt::AlignTop);

  connect(choice_, &QComboBox::currentIndexChanged, this, &TimelinePage::take_measurements);
  connect(coloring_, &QComboBox::currentIndexChanged, this, &TimelinePage::take_plan);
  connect(&look(), &Look::changed, this, &TimelinePage::take_plan);
  connect(devices_, &QLineEdit::textChanged, this, &TimelinePage::take_devices);
  connect(devices_, &QLineEdit::editingFinished, this,
          [this] { devices_->setText(device_numbers(canvas_->devices())); });
  connect(folds_, &QToolButton::toggled, canvas_, &TimelineCanvas::set_folded);
  connect(measures_, &QToolButton::toggled, canvas_, &TimeCanvas::set_measuring);
  connect(searches_, &QToolButton::clicked, search_, &TimelineSearch::begin);
  connect(corrects_, &QToolButton::clicked, this, &TimelinePage::offer_correction);
  connect(search_, &TimelineSearch::foundChanged, this, [this] {
    current_ = -1;
    places_.clear();
    canvas_->set_found(search_->found());
  });
  connect(search_, &TimelineSearch::nextWanted, this, [this] { go(1); });
  connect(search_, &TimelineSearch::previousWanted, this, [this] { go(-1); });
  connect(search_, &TimelineSearch::ended, canvas_, qOverload<>(&QWidget::setFocus));
  connect(canvas_, &TimelineCanvas::factsChanged, this, &TimelinePage::show_facts);
  connect(builder_, &TimelineBuilder::built, this, &TimelinePage::show_measured);
  connect(&workspace.planner, &Planner::delivered, this, &TimelinePage::take_plan);
  connect(&workspace.run, &RunControl::received, this, [this] {
    if (isVisible()) take_measurements();
  });
  setFocusProxy(canvas_);
  take_plan();
}

QLayout* TimelinePage::make_bar() {
  choice_->setObjectName("timelineStep");
  choice_->setToolTip(tr("Which recorded training step is shown."));
  choice_->setAccessibleName(tr("Training step"));
  guard_field(choice_);
  coloring_->setObjectName("timelineColoring");
  coloring_->addItem(tr("colour: kind of op"), int(TimelineColoring::kind));
  coloring_->addItem(tr("colour: layer"), int(TimelineColoring::layer));
  coloring_->setToolTip(tr("What the colours of local work tell. What moves data has a colour of its own."));
  coloring_->setAccessibleName(tr("Colour by"));
  guard_field(coloring_);
  devices_->setObjectName("timelineDevices");
  devices_->setPlaceholderText(tr("device lanes"));
  devices_->setAccessibleName(tr("Devices with lanes of their own"));
  devices_->setToolTip(
      tr("Devices that have lanes of their own beneath those of the stages, such as 0, 5. L on the picture does so for "
         "the selected device, and takes them away again."));
  devices_->setValidator(new QRegularExpressionValidator(QRegularExpression("[0-9, ]*"), devices_));
  devices_->setFixedWidth(devices_->fontMetrics().horizontalAdvance(devices_->placeholderText()) + 24);
  devices_->setProperty("silent", true);
  guard_field(devices_);
  const auto prepare = [](QToolButton* button, const char* name, const QString& text, const QString& tip) {
    button->setObjectName(name);
    button->setText(text);
    button->setToolTip(tip);
    button->setAutoRaise(true);
  };
  prepare(folds_, "timelineFold", tr("Fold ranks"),
          tr("Shows of all ranks that do the same instructions only the one that waits least and the one that waits "
             "most."));
  folds_->setCheckable(true);
  prepare(measures_, "timelineMeasure", tr("Measure"),
          tr("Drags mark a range and say what is in it (Shift and drag does so, too; M: what is selected)."));
  measures_->setCheckable(true);
  prepare(searches_, "timelineFind", tr("Find"), tr("Finds instructions by name or kind (Ctrl+F or / on this page)."));
  prepare(corrects_, "timelineCorrect", tr("Correct machine"),
          tr("Says which families of instructions took another time than predicted, and offers the machine with these "
             "corrected."));
  auto* bar = filled(bordered(new QHBoxLayout, {8, 0, 8, 0}, 6),
                     {choice_, coloring_, devices_, folds_, measures_, searches_, corrects_, spacer});
  return bar;
}

void TimelinePage::take_devices() { canvas_->set_devices(devices_in(devices_->text())); }

// Of the selected device; without one, where it is typed.
void TimelinePage::toggle_device() {
  devices_->show();
  const std::optional<int> device = workspace_.selection.device();
  if (!device) return devices_->setFocus(Qt::ShortcutFocusReason);
  std::vector<int> devices = canvas_->devices();
  if (std::erase(devices, *device) == 0) devices.push_back(*device);
  devices_->setText(device_numbers(devices));
}

void TimelinePage::begin_picture(const Page* seen) {
  if (const auto* page = dynamic_cast<const TimelinePage*>(seen)) devices_->setText(page->devices_->text());
}

// A page that is not seen lets its plan go and takes the newest when it is shown. On another thread, since a program
// may have a million instructions; until that is done the plan before is shown.
void TimelinePage::take_plan() {
  const std::shared_ptr<const Plan> plan = isVisible() ? workspace_.planner.plan() : nullptr;
  if (!plan) {
    prediction_.cancel();
    return show_prediction({});
  }
  canvas_->update();
  const auto coloring = static_cast<TimelineColoring>(coloring_->currentData().toInt());
  const TimelineCanvas::PredictedStages known = plan == plan_ ? canvas_->predicted() : nullptr;
  prediction_.make([plan, known, coloring, theme = theme()](const std::stop_token&) -> TimelineCanvas::Prediction {
    return {plan, known ? known : share(predicted_steps(*plan)), timeline_colors(*plan, coloring, theme)};
  });
}

void TimelinePage::show_prediction(TimelineCanvas::Prediction prediction) {
  const bool is_other = plan_ != prediction.plan;
  plan_ = prediction.plan;
  canvas_->show_prediction(std::move(prediction));
  search_->show_plan(plan_);
  if (is_other) memory_.cancel();
  if (is_other && plan_)
    memory_.make([plan = plan_](const std::stop_token& stop) { return memory_tracks(*plan, stop); });
  take_measurements();
}

void TimelinePage::showEvent(QShowEvent*) { take_plan(); }

void TimelinePage::take_measurements() {
  const bool is_newest = plan_ && plan_ == workspace_.planner.plan();
  const RunRecord* run = is_newest ? workspace_.matching_run() : nullptr;
  const std::shared_ptr<const TraceMessage> trace = run ? run->shared_trace(choice_->choice()) : nullptr;
  choice_->setVisible(trace != nullptr);
  folds_->setVisible(trace != nullptr);
  corrects_->setVisible(trace != nullptr);
  // Each rank has a row of its own then, and the bar no room for more in a small window.
  devices_->setVisible(!trace || !devices_->text().isEmpty());
  builder_->take(plan_, trace);
}

void TimelinePage::show_measured() {
  canvas_->show_measured(builder_->step(), builder_->trace());
  show_facts();
}

void TimelinePage::offer_correction() {
  if (!plan_ || !builder_->trace()) return;
  const MachineCorrection correction = correct_machine(*plan_, *builder_->trace());
  QStringList lines;
  for (const std::string& line : correction.lines()) lines << qt(line);
  auto* box =
      new QMessageBox(QMessageBox::Information, tr("Correct machine"), lines.join('\n'), QMessageBox::NoButton, this);
  box->setObjectName("machineCorrection");
  box->setTextFormat(Qt::PlainText);
  box->setAttribute(Qt::WA_DeleteOnClose);
  if (correction.changes_machine()) {
    box->setInformativeText(tr("The run file can name the machine with these numbers corrected. It can be undone."));
    connect(box->addButton(tr("&Use it"), QMessageBox::AcceptRole), &QAbstractButton::clicked, this,
            [this, machine = correction.machine] { set_machine(workspace_.document, machine); });
  }
  box->addButton(QMessageBox::Close);
  box->open();
}

void TimelinePage::show_facts() {
  const QString facts = canvas_->facts();
  const QString keys = tr("W/S zoom, A/D pan, F fit, Shift+drag measures, M marks, / finds.");
  facts_->setVisible(!facts.isEmpty() || !is_in_picture(*this));
  facts_->setText(!facts.isEmpty()   ? facts
                  : !plan_           ? QString()
                  : builder_->step() ? keys
                                     : tr("Train to see every rank beneath what is predicted. %1").arg(keys));
}

// Over all stages, in the order that is predicted: that of ranks may differ.
void TimelinePage::gather_places() {
  for (size_t stage = 0; stage < search_->found().size(); ++stage)
    for (const int position : search_->found()[stage])
      places_.push_back({canvas_->predicted_start(int(stage), position), int(stage), position});
  std::ranges::stable_sort(places_, {}, &Place::start);
}

// To the next from what was found last; else from the beginning of the window.
void TimelinePage::go(int by) {
  if (places_.empty()) gather_places();
  if (places_.empty()) return;
  const auto count = static_cast<int>(places_.size());
  if (current_ < 0) {
    const auto seen = std::ranges::lower_bound(places_, canvas_->begin(), {}, &Place::start) - places_.begin();
    current_ = by > 0 ? int(seen) : int(seen) - 1;
  } else {
    current_ += by;
  }
  current_ = (current_ + count) % count;
  canvas_->reveal(places_[size_t(current_)].stage, places_[size_t(current_)].position);
  search_->show_current(current_);
}

// The window finds parameters by Ctrl+F; where this page has the keyboard, steps.
bool TimelinePage::event(QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride || !static_cast<QKeyEvent*>(event)->matches(QKeySequence::Find))
    return QWidget::event(event);
  event->accept();
  return true;
}

void TimelinePage::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Find) || event->key() == Qt::Key_Slash) return search_->begin();
  if (event->key() == Qt::Key_L && event->modifiers() == Qt::NoModifier) return toggle_device();
  if (event->key() == Qt::Key_F3) return go(event->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
  QWidget::keyPressEvent(event);
}

}  // namespace shardscope
