#include "gui/pages/replay_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/look/key_help.h"

namespace shardscope {
namespace {

constexpr int frame_milliseconds = 16;
constexpr int narrow = 620;                // pixels
constexpr int marks_of_a_tick = 100;       // of the slider
constexpr double seconds_of_a_tick = 0.9;  // of a short replay, at speed 1
constexpr double longest_film = 16;        // seconds, at speed 1
constexpr double speeds[] = {0.25, 0.5, 1, 2, 4};

}  // namespace

ReplayView::ReplayView(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      title_(new PathLabel(this)),
      facts_(new QLabel(this)),
      canvas_(new ReplayCanvas(workspace, this)),
      list_(new ReplayList(this)),
      table_(new QTableView(this)) {
  setObjectName("replay");
  set_key_help(this, tr("Replay"),
               {{tr("Space"), tr("play, pause")},
                {tr("Left, Right"), tr("step")},
                {tr("Home, End"), tr("go to the ends")},
                {tr("[, ]"), tr("change the speed")},
                {tr("+, -, 0"), tr("zoom; show all")},
                {tr("Escape"), tr("close")}});
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Replay of a collective: who sends which piece to whom"));
  title_->setProperty("heading", true);
  title_->setObjectName("replayTitle");
  facts_->setProperty("muted", true);
  facts_->setWordWrap(true);
  for (QLabel* label : std::initializer_list<QLabel*>{title_, facts_})
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  table_->setObjectName("replayPieces");
  table_->setAccessibleName(tr("Pieces in order of time"));
  table_->setToolTip(tr("Every piece that a device gives to another. Ctrl+C copies the list."));
  table_->setModel(list_);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(22);
  table_->horizontalHeader()->setSectionResizeMode(ReplayList::piece_column, QHeaderView::Stretch);
  const int widths[] = {44, 48, 48, 140, 76};
  for (int column = 0; column < ReplayList::columns; ++column) table_->setColumnWidth(column, widths[column]);
  table_->installEventFilter(this);

  split_ = new QSplitter(this);
  split_->addWidget(canvas_);
  split_->addWidget(table_);
  for (QWidget* part : std::initializer_list<QWidget*>{canvas_, table_})
    part->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
  split_->setStretchFactor(0, 3);
  split_->setStretchFactor(1, 2);
  split_->setChildrenCollapsible(true);
  auto* head = new QVBoxLayout;
  head->setContentsMargins(20, 8, 20, 2);
  head->setSpacing(2);
  head->addWidget(title_);
  head->addWidget(facts_);
  filled(tight(new QVBoxLayout(this)), {head, {split_, 1}, make_controls()});

  timer_.setInterval(frame_milliseconds);
  connect(&timer_, &QTimer::timeout, this, [this] { advance(double(clock_.restart()) / 1000); });
  connect(&look(), &Look::changed, this, &ReplayView::show_icons);
  connect(&workspace.selection, &Selection::deviceChanged, this, [this] {
    if (replay_) show_pieces();
  });
}

QToolButton* ReplayView::make_button(const QString& name, const QString& tip) {
  auto* button = new QToolButton(this);
  button->setObjectName(name);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setAutoRaise(true);
  return button;
}

// A narrow page has the pieces beneath the picture.
void ReplayView::resizeEvent(QResizeEvent*) {
  const Qt::Orientation along = width() < narrow ? Qt::Vertical : Qt::Horizontal;
  if (along == split_->orientation()) return;
  split_->setOrientation(along);
  split_->setSizes({3 * narrow, 2 * narrow});
}

void ReplayView::show_icons() {
  first_->setIcon(themed_icon("to_start"));
  back_->setIcon(themed_icon("step_back"));
  play_->setIcon(themed_icon(is_playing() ? "pause" : "train"));
  forward_->setIcon(themed_icon("step_on"));
}

QWidget* ReplayView::make_controls() {
  auto* bar = new QWidget(this);
  first_ = make_button("replayFirst", tr("To the beginning (Home)"));
  back_ = make_button("replayBack", tr("One tick back (Left)"));
  play_ = make_button("replayPlay", tr("Play or pause (Space)"));
  forward_ = make_button("replayForward", tr("One tick on (Right)"));
  close_ = make_button("replayClose", tr("Back to the layout (Escape)"));
  close_->setText(tr("Close"));
  show_icons();
  slider_ = new QSlider(Qt::Horizontal, bar);
  slider_->setObjectName("replaySlider");
  slider_->setAccessibleName(tr("Time"));
  slider_->setToolTip(
      tr("Time, in ticks. In a tick each device gives pieces to the devices so many places further on; "
         "a collective itself does it all in one go."));
  slider_->setMinimumWidth(60);
  slider_->setFocusPolicy(Qt::NoFocus);
  speed_ = new QComboBox(bar);
  speed_->setObjectName("replaySpeed");
  speed_->setAccessibleName(tr("Speed"));
  speed_->setToolTip(tr("Speed ([ and ])"));
  guard_field(speed_);
  for (const double speed : speeds) speed_->addItem(QString("%1\u00d7").arg(speed), speed);
  speed_->setCurrentIndex(2);
  place_ = new QLabel(bar);
  place_->setMinimumWidth(place_->fontMetrics().horizontalAdvance("000.0 / 000"));
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(12, 4, 12, 6);
  row->setSpacing(4);
  for (QToolButton* button : {first_, back_, play_, forward_}) row->addWidget(button);
  row->addWidget(slider_, 1);
  row->addWidget(place_);
  row->addWidget(speed_);
  row->addWidget(close_);
  connect(first_, &QToolButton::clicked, this, [this] { set_tick(0); });
  connect(back_, &QToolButton::clicked, this, [this] { step(-1); });
  connect(play_, &QToolButton::clicked, this, [this] { is_playing() ? pause() : play(); });
  connect(forward_, &QToolButton::clicked, this, [this] { step(1); });
  connect(close_, &QToolButton::clicked, this, &ReplayView::closed);
  connect(slider_, &QSlider::valueChanged, this, [this](int mark) { set_tick(double(mark) / marks_of_a_tick); });
  return bar;
}

void ReplayView::open(Replay replay) {
  pause();
  replay_ = std::make_shared<const Replay>(std::move(replay));
  leg_ = -1;
  canvas_->show_replay(replay_);
  {
    const QSignalBlocker block(slider_);
    slider_->setRange(0, replay_->ticks * marks_of_a_tick);
    slider_->setPageStep(marks_of_a_tick);
  }
  set_tick(replay_->legs[static_cast<size_t>(replay_->chosen_leg)].first_tick);
}

void ReplayView::close_replay() {
  pause();
  replay_.reset();
  list_->show({}, DType::f32, std::nullopt);
  canvas_->show_replay(nullptr);
}

void ReplayView::set_tick(double tick) {
  if (!replay_) return;
  tick_ = std::clamp(tick, 0.0, double(replay_->ticks));
  const ReplayMoment moment = moment_of(*replay_, tick_);
  moment.leg != leg_ ? show_leg(moment.leg) : show_moment(moment);
}

void ReplayView::step(int by) {
  pause();
  set_tick(by > 0 ? std::floor(tick_ + 1e-6) + 1 : std::ceil(tick_ - 1e-6) - 1);
}

void ReplayView::play() {
  if (!replay_) return;
  if (tick_ >= replay_->ticks) set_tick(0);
  clock_.start();
  timer_.start();
  show_icons();
}

void ReplayView::pause() {
  timer_.stop();
  show_icons();
}

void ReplayView::advance(double seconds) {
  if (!replay_) return;
  const double rate = std::max(1 / seconds_of_a_tick, replay_->ticks / longest_film) * speed_->currentData().toDouble();
  set_tick(tick_ + seconds * rate);
  if (tick_ >= replay_->ticks) pause();
}

void ReplayView::show_leg(int number) {
  leg_ = number;
  const ReplayLeg& leg = replay_->legs[static_cast<size_t>(number)];
  const Instruction& instruction = replay_->plan->program.tasks[leg.step.task].instructions[leg.step.index];
  title_->set_path_text(QString("%1 \u2013 %2").arg(qt(leg.title), qt(replay_->array)));
  QString text = tr("%1 %2: %3 to %4")
                     .arg(qt(to_string(replay_->shape)), qt(name(replay_->dtype)),
                          qt(to_string(leg.moves.move().before, replay_->plan->mesh)),
                          qt(to_string(leg.moves.move().after, replay_->plan->mesh)));
  if (replay_->legs.size() > 1)
    text += tr("   |   instruction %1 of %2 of the reshard").arg(number + 1).arg(replay_->legs.size());
  if (const size_t arrays = instruction.moved().size(); arrays > 1)
    text += tr("   |   one of %1 arrays that move in one go").arg(arrays);
  if (piece_scope(leg) == PieceScope::group) text += tr("   |   pieces of one group of devices");
  if (piece_scope(leg) == PieceScope::device) text += tr("   |   pieces of one device");
  facts_->setText(text);
  show_pieces();
}

void ReplayView::show_pieces() {
  const ReplayLeg& leg = replay_->legs[static_cast<size_t>(leg_)];
  const std::optional<int> selected = workspace_.selection.device();
  const bool takes_part = selected && std::ranges::binary_search(leg.devices, *selected);
  const auto pieces =
      std::make_shared<const std::vector<TimedPiece>>(pieces_of(leg, takes_part ? *selected : leg.devices.front()));
  list_->show(*pieces, replay_->dtype, takes_part ? selected : std::nullopt);
  canvas_->show_pieces(pieces);
  show_moment(moment_of(*replay_, tick_));
}

void ReplayView::show_moment(const ReplayMoment& moment) {
  canvas_->show_moment(moment);
  list_->set_moment(moment);
  if (const int row = list_->row_on_its_way(); row >= 0) table_->scrollTo(list_->index(row, 0));
  const QSignalBlocker block(slider_);
  slider_->setValue(static_cast<int>(std::lround(tick_ * marks_of_a_tick)));
  place_->setText(QString("%1 / %2").arg(tick_, 0, 'f', 1).arg(replay_->ticks));
}

void ReplayView::change_speed(int by) {
  speed_->setCurrentIndex(std::clamp(speed_->currentIndex() + by, 0, speed_->count() - 1));
}

void ReplayView::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Space: return is_playing() ? pause() : play();
    case Qt::Key_Right: return step(1);
    case Qt::Key_Left: return step(-1);
    case Qt::Key_Home: return set_tick(0);
    case Qt::Key_End: return replay_ ? set_tick(replay_->ticks) : void();
    case Qt::Key_BracketLeft: return change_speed(-1);
    case Qt::Key_BracketRight: return change_speed(1);
    case Qt::Key_Plus:
    case Qt::Key_Equal: return canvas_->zoom(1.3);
    case Qt::Key_Minus: return canvas_->zoom(1 / 1.3);
    case Qt::Key_0: return canvas_->show_all();
    case Qt::Key_Escape: emit closed(); return;
    default: break;
  }
  if (event->matches(QKeySequence::Copy)) return QApplication::clipboard()->setText(list_->copied_text());
  QWidget::keyPressEvent(event);
}

void ReplayView::hideEvent(QHideEvent*) { pause(); }

bool ReplayView::eventFilter(QObject* watched, QEvent* event) {
  if (watched != table_ || event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  auto* key = static_cast<QKeyEvent*>(event);
  const bool is_mine = key->matches(QKeySequence::Copy) || key->key() == Qt::Key_Space || key->key() == Qt::Key_Escape;
  if (is_mine) keyPressEvent(key);
  return is_mine;
}

}  // namespace shardscope
