#include "gui/pages/timeline_canvas.h"

#include <QKeyEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/fitted_name.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/pages/no_plan.h"
#include "viz/paint/memory_curve.h"
#include "viz/paint/timeline_image.h"

namespace shardscope {
namespace {

constexpr int timeline_right = 18;
constexpr int timeline_ruler = 22;
constexpr int phase_band = 18;
constexpr int timeline_heading = 26;
constexpr double legend_side = 12;
constexpr double timeline_least_row = 13, timeline_most_row = 44;
constexpr double row_share = 0.88;  // of what there is for a row and the gap beneath it
constexpr int beside_title = 14;
constexpr int most_left = 220;         // for the second line of a title
constexpr double two_lines = 30;       // of a title, from this height on
constexpr size_t most_high_rows = 64;  // in a picture
constexpr double high_pitch = 35, low_pitch = 20;
constexpr double labelled_row = 16;    // slices of lower rows have no text
constexpr double labelled_slice = 64;  // pixels

}  // namespace

TimelineCanvas::TimelineCanvas(Workspace& workspace, QWidget* parent)
    : TimeCanvas(parent), workspace_(workspace), scroll_(new QScrollBar(Qt::Vertical, this)) {
  setObjectName("timelineCanvas");
  setAccessibleName(tr("Time of one training step: a row a rank"));
  set_key_help(this, tr("Timeline"),
               time_keys() << KeyHelp{tr("Up, Down, Page Up, Page Down"), tr("scroll the ranks")}
                           << KeyHelp{tr("L"), tr("give the selected device lanes of its own, or take them away")}
                           << KeyHelp{tr("/, F3, Shift+F3"), tr("find an instruction; next, previous")});
  scroll_->setAccessibleName(tr("Scrolls the ranks"));
  connect(scroll_, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
  connect(&workspace.selection, &Selection::deviceChanged, this, &TimelineCanvas::take_device);
  connect(&workspace.selection, &Selection::stepChanged, this, &TimelineCanvas::take_step);
  connect(this, &TimeCanvas::rangeChanged, this, &TimelineCanvas::factsChanged);
}

void TimelineCanvas::show_prediction(Prediction prediction) {
  colors_ = std::move(prediction.colors);
  update();
  if (plan_ == prediction.plan) return;
  plan_ = std::move(prediction.plan);
  rows_.clear();
  predicted_ = std::move(prediction.stages);
  memory_.clear();
  measured_.reset();
  trace_.reset();
  found_ = {};
  choose(std::nullopt);
  set_range(std::nullopt);
  lay_out();
  show_all();
  take_step();
}

void TimelineCanvas::show_memory(std::vector<MemoryTrack> memory) {
  memory_ = std::move(memory);
  lay_out();
}

void TimelineCanvas::show_measured(std::shared_ptr<const MeasuredStep> measured,
                                   std::shared_ptr<const TraceMessage> trace) {
  measured_ = plan_ ? std::move(measured) : nullptr;
  trace_ = measured_ ? std::move(trace) : nullptr;
  lay_out();
  emit factsChanged();
}

void TimelineCanvas::set_folded(bool folded) {
  folded_ = folded;
  lay_out();
}

void TimelineCanvas::set_devices(std::vector<int> devices) {
  if (devices == devices_) return;
  devices_ = std::move(devices);
  lay_out();
  emit factsChanged();
}

void TimelineCanvas::take_device() {
  const auto row = std::ranges::find_if(rows_, [&](const Row& one) { return device_of(one).has_value(); });
  if (row != rows_.end()) show_row(size_t(row - rows_.begin()));
  update();
  emit factsChanged();
}

void TimelineCanvas::show_row(size_t row) {
  if (row_top(row) < timeline_ruler || row_place(row).bottom() > height() - legend_room())
    scroll_->setValue(scroll_->value() + int(row_top(row) - timeline_ruler - phases_height()));
}

void TimelineCanvas::take_step() {
  const std::optional<StepRef> step = plan_ ? workspace_.selection.step() : std::nullopt;
  if (!chosen_ || !step || step_at(*plan_, chosen_->position, chosen_->stage) != *step) {
    std::optional<Place> place;
    if (const std::optional<int> position = plan_ ? position_of(*plan_, step) : std::nullopt)
      place = Place{stage_of(*plan_, *step), plan_->instructions(stage_of(*plan_, *step)).done_of(*position)};
    choose(place);
  }
  update();
  emit factsChanged();
}

void TimelineCanvas::choose(std::optional<Place> place) {
  if (place == chosen_) return;
  chosen_ = place;
  exposed_ = place ? exposed_wait(*plan_, place->stage, place->position) : std::nullopt;
}

int TimelineCanvas::phases_height() const { return predicted_->size() == 1 ? phase_band + 4 : 4; }

void TimelineCanvas::lay_out() {
  rows_.clear();
  double longest = 0;
  for (size_t stage = 0; stage < predicted_->size(); ++stage) {
    add_predicted(static_cast<int>(stage), -1);
    longest = std::max(longest, predicted_->at(stage).seconds);
  }
  for (const int device : devices_)
    if (plan_ && device < plan_->mesh.device_count()) add_predicted(plan_->stage_of(device), device);
  predicted_rows_ = rows_.size();
  if (measured_) {
    longest = std::max(longest, measured_->seconds);
    const std::vector<int> extremes = folded_ ? measured_->extremes() : std::vector<int>();
    for (const RankTimeline& rank : measured_->ranks)
      if (!folded_ || std::ranges::count(extremes, rank.rank)) rows_.push_back({rank.rank, rank.stage, &rank.track});
  }
  set_seconds(plan_ ? std::max(longest, 1e-9) : 0);
  const QFontMetrics metrics(small_font());
  left_ = least_left;
  for (const Row& row : rows_) {
    const auto [title, detail, is_warning] = title_of(row);
    left_ = std::max(left_, metrics.horizontalAdvance(title) + beside_title + 3);
    const int most = is_in_picture(*this) ? QWIDGETSIZE_MAX : std::max(left_, most_left);
    left_ = std::clamp(metrics.horizontalAdvance(detail) + beside_title + 3, left_, most);
  }
  updateGeometry();
  const double room = height() - timeline_ruler - phases_height() - legend_room() - (measured_ ? timeline_heading : 0);
  const auto count = double(std::max<size_t>(1, rows_.size()));
  row_height_ = std::clamp(room / count * row_share, timeline_least_row, timeline_most_row);
  row_gap_ = row_height_ < 20 ? 1 : 4;
  const double content = count * (row_height_ + row_gap_);
  scroll_->setGeometry(width() - timeline_right + 4, timeline_ruler, timeline_right - 4,
                       std::max(0, height() - timeline_ruler - legend_room()));
  scroll_->setRange(0, std::max(0, static_cast<int>(std::ceil(content - room))));
  scroll_->setPageStep(std::max(1, static_cast<int>(room)));
  scroll_->setSingleStep(static_cast<int>(row_height_ + row_gap_));
  scroll_->setVisible(scroll_->maximum() > 0);
  update();
}

void TimelineCanvas::add_predicted(int stage, int device) {
  const PredictedStep& predicted = predicted_->at(size_t(stage));
  rows_.push_back({-1, stage, &predicted.track, {}, false, device, &predicted});
  for (const PredictedStep::Stream& stream : predicted.streams)
    rows_.push_back({-1, stage, &stream.track, qt(stream.name), stream.is_behind_passes, device, &predicted});
  rows_.push_back({-1, stage, &predicted.track, {}, false, device, &predicted, true});
}

QSize TimelineCanvas::minimumSizeHint() const {
  if (!is_in_picture(*this)) return {280, 130};
  const QFontMetricsF metrics(small_font());
  const double wide = std::max(measured_ ? metrics.horizontalAdvance(heading()) + 12 + timeline_right : 0,
                               least_legend_width(legend(), metrics) + 2 * legend_side);
  const double rows = double(rows_.size()) * (rows_.size() > most_high_rows ? low_pitch : high_pitch);
  const double high = timeline_ruler + phases_height() + legend_room() + (measured_ ? timeline_heading : 0) + rows;
  return {std::max(left_ + 280, int(std::ceil(wide)) + 1), int(std::ceil(high))};
}

void TimelineCanvas::resizeEvent(QResizeEvent*) { lay_out(); }

QRectF TimelineCanvas::time_place() const {
  return {double(left_), double(timeline_ruler), double(std::max(20, width() - left_ - timeline_right)),
          double(height() - timeline_ruler)};
}

double TimelineCanvas::row_top(size_t row) const {
  const double group = row >= predicted_rows_ ? timeline_heading : 0;
  return timeline_ruler + phases_height() + group + double(row) * (row_height_ + row_gap_) - scroll_->value();
}

QRectF TimelineCanvas::row_place(size_t row) const {
  const QRectF place = time_place();
  return {place.x(), row_top(row), place.width(), row_height_};
}

const TimelineCanvas::Row* TimelineCanvas::row_of(int stage) const {
  const Row* best = nullptr;
  for (const Row& row : rows_) {
    if (row.stage != stage) continue;
    if (row.rank >= 0 && row.rank == workspace_.selection.device()) return &row;
    if (!best || (best->rank < 0 && row.rank >= 0)) best = &row;
  }
  return best;
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!plan_) return paint_no_plan(painter, rect(), workspace_.planner);
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setFont(small_font());
  const int foot = height() - legend_room();
  paint_ruler(painter, 2, foot);
  painter.save();
  painter.setClipRect(0, timeline_ruler, width(), foot - timeline_ruler);
  paint_phases(painter);
  if (measured_) paint_heading(painter);
  QImage image;
  for (size_t row = 0; row < rows_.size(); ++row) {
    const QRectF place = row_place(row);
    if (place.bottom() < timeline_ruler || place.top() > foot) continue;
    paint_row(painter, row, image);
  }
  painter.restore();
  paint_found(painter);
  paint_range(painter, timeline_ruler, foot);
  painter.setFont(small_font());
  paint_legend(painter, QRectF(legend_side, foot, width() - 2 * legend_side, height() - foot), legend());
}

void TimelineCanvas::paint_phases(QPainter& painter) const {
  if (predicted_->size() != 1) return;
  const double y = timeline_ruler + 2 - scroll_->value();
  painter.setPen(theme().muted);
  painter.drawText(QRectF(0, y, left_ - 10, phase_band), Qt::AlignRight | Qt::AlignVCenter, tr("phases"));
  const QRectF all = time_place();
  for (const auto& [phase, start, end] : predicted_->front().phases) {
    const double a = std::clamp(x_at(start), all.left(), all.right());
    const double b = std::clamp(x_at(end), all.left(), all.right());
    if (b - a < 0.5) continue;
    const QColor fill = phase_color(phase, theme());
    const QRectF place(a, y, b - a, phase_band - 2);
    painter.fillRect(place, fill);
    painter.setPen(text_on(fill));
    const QString title = qt(name(phase));
    if (painter.fontMetrics().horizontalAdvance(title) + 8 < place.width())
      painter.drawText(place, Qt::AlignCenter, title);
  }
}

std::vector<LegendEntry> TimelineCanvas::legend() const {
  const auto is_of_stream = [](const Row& row) { return !row.stream.isEmpty(); };
  return timeline_legend(colors_, measured_ != nullptr, std::ranges::any_of(rows_, is_of_stream));
}

QString TimelineCanvas::heading() const {
  double predicted = 0;
  for (const PredictedStep& stage : *predicted_) predicted = std::max(predicted, stage.seconds);
  return step_heading(*measured_, trace_->step, predicted);
}

void TimelineCanvas::paint_heading(QPainter& painter) const {
  const double y = row_top(predicted_rows_) - timeline_heading;
  painter.setPen(theme().text);
  painter.drawText(QRectF(12, y, width() - 12 - timeline_right, timeline_heading), Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(heading(), Qt::ElideRight, width() - 12 - timeline_right));
}

TimelineTitle TimelineCanvas::title_of(const Row& row) const {
  return timeline_title(*plan_, row, measured_.get(), memory_of(row), device_of(row));
}

std::optional<int> TimelineCanvas::device_of(const Row& row) const {
  const std::optional<int> device = plan_ && row.is_of_time() ? workspace_.selection.device() : std::nullopt;
  if (!device || *device >= plan_->mesh.device_count()) return std::nullopt;
  const bool is_of = row.device >= 0 ? row.device == *device
                     : row.rank >= 0 ? row.rank == *device
                                     : predicted_->size() > 1 && plan_->stage_of(*device) == row.stage;
  return is_of ? device : std::nullopt;
}

void TimelineCanvas::paint_title(QPainter& painter, size_t index) const {
  const Row& row = rows_[index];
  const QRectF place = row_place(index);
  const auto [title, detail, is_warning] = title_of(row);
  const bool is_selected = device_of(row).has_value();
  painter.setPen(is_selected ? theme().accent : is_warning ? theme().warning : theme().text);
  const QRectF room(4, place.y(), left_ - beside_title, place.height());
  if (place.height() < two_lines) {
    painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, title);
    return;
  }
  painter.drawText(QRectF(room.x(), room.y(), room.width(), room.height() / 2), Qt::AlignRight | Qt::AlignBottom,
                   title);
  painter.setPen(theme().muted);
  painter.drawText(QRectF(room.x(), room.center().y(), room.width(), room.height() / 2), Qt::AlignRight | Qt::AlignTop,
                   painter.fontMetrics().elidedText(detail, Qt::ElideRight, int(room.width())));
}

void TimelineCanvas::paint_row(QPainter& painter, size_t index, QImage& image) const {
  const Row& row = rows_[index];
  if (row.is_memory) return paint_memory(painter, index);
  const QRectF place = row_place(index);
  const double ratio = painter.device()->devicePixelRatioF();
  const QSize pixels(std::max(1, int(std::lround(place.width() * ratio))),
                     std::max(1, int(std::lround(place.height() * ratio))));
  if (image.size() != pixels) image = QImage(pixels, QImage::Format_RGB32);
  TrackInk ink{colors_.of_stage[size_t(row.stage)],
               theme().window.rgb(),
               instruction_color(InstructionKind::compute, theme()).rgb(),
               instruction_color(InstructionKind::all_reduce, theme()).rgb(),
               mix(theme().warning, theme().window, 0.45).rgb(),
               theme().text.rgb()};
  paint_track(image, image.rect(), *row.track, begin(), end(), ink);
  painter.drawImage(place, image);
  paint_title(painter, index);
  if (place.height() >= labelled_row) paint_labels(painter, index);
  if (!chosen_ || chosen_->stage != row.stage) return;
  painter.setPen(QPen(theme().accent, 2));
  painter.setBrush(Qt::NoBrush);
  for (auto [first, last] = row.track->slices_of(chosen_->position); first < last;
       std::tie(first, last) = row.track->slices_of(chosen_->position, last)) {
    const TrackSlice &from = row.track->slices()[size_t(first)], &to = row.track->slices()[size_t(last) - 1];
    if (to.end < begin() || from.start > end()) continue;
    const double a = std::max(place.left(), x_at(from.start)), b = std::min(place.right(), x_at(to.end));
    painter.drawRect(QRectF(a - 1, place.y(), std::max(2.0, b - a + 2), place.height()));
  }
}

const MemoryTrack* TimelineCanvas::memory_of(const Row& row) const {
  return row.is_memory && !memory_.empty() ? &memory_[size_t(row.stage)] : nullptr;
}

void TimelineCanvas::paint_memory(QPainter& painter, size_t index) const {
  const QRectF place = row_place(index);
  painter.fillRect(place, theme().window);
  if (const MemoryTrack* memory = memory_of(rows_[index])) {
    const int64_t most = std::ranges::max_element(memory_, {}, &MemoryTrack::held)->held();
    const int64_t limit = plan_->memory_limit_bytes;
    const MemoryInk ink{in_use_color(), theme().error, memory->held() > limit ? theme().error : theme().muted};
    paint_memory_track(painter, place, *memory, begin(), end(), highest_drawn(double(most), limit), limit, ink);
  }
  paint_title(painter, index);
}

void TimelineCanvas::paint_labels(QPainter& painter, size_t index) const {
  const Row& row = rows_[index];
  const QRectF place = row_place(index);
  const double least = labelled_slice / place.width() * (end() - begin());
  const std::vector<QRgb>& colors = colors_.of_stage[size_t(row.stage)];
  row.track->each_longer(begin(), end(), least, [&](int number) {
    const TrackSlice& slice = row.track->slices()[size_t(number)];
    const double a = std::max(place.left(), x_at(slice.start)), b = std::min(place.right(), x_at(slice.end));
    const QRectF room(a + 5, place.y(), b - a - 9, place.height());
    if (room.width() < labelled_slice - 10) return;
    const bool waits = slice.part == TimePart::waiting;
    const QColor strong(colors[size_t(slice.step)]);
    const QColor fill = slice.part == TimePart::hidden ? mix(theme().window, strong, pale) : strong;
    painter.setPen(waits ? theme().muted : text_on(fill));
    const QRectF high(room.x(), room.y(), room.width(), room.height() * (1 - low_share));
    painter.drawText(waits ? high : room, Qt::AlignLeft | Qt::AlignVCenter, label_of(slice, row.stage, room.width()));
  });
}

QString TimelineCanvas::instruction_label(const Instruction& instruction) const {
  return is_communication(instruction.kind()) ? qt(name(instruction.operation()))
                                              : short_name(plan_->instruction_name(instruction));
}

// In a picture, where it would be cut, the last part of its name, or nothing.
QString TimelineCanvas::label_of(const TrackSlice& slice, int stage, double room) const {
  const QString text = slice.part == TimePart::waiting ? tr("waits %1").arg(qt(seconds_text(slice.end - slice.start)))
                                                       : instruction_label(plan_->instructions(stage)[slice.step]);
  const QFontMetricsF metrics(small_font());
  if (!is_in_picture(*this)) return fitted_name(text, metrics, room);
  for (const QString& whole : {text, text.section('/', -1)})
    if (metrics.horizontalAdvance(whole) <= room) return whole;
  return {};
}

// More marks than pixels would say nothing.
void TimelineCanvas::paint_found(QPainter& painter) const {
  const QRectF place = time_place();
  for (size_t stage = 0; stage < found_.size(); ++stage) {
    const Row* row = row_of(static_cast<int>(stage));
    const auto [first, last] = row->track->slices_in(begin(), end());
    if (first == last) continue;
    const std::vector<TrackSlice>& slices = row->track->slices();
    const auto from = std::ranges::lower_bound(found_[stage], slices[size_t(first)].step);
    const auto to = std::ranges::upper_bound(found_[stage], slices[size_t(last) - 1].step);
    if (to - from > place.width()) continue;
    for (auto position = from; position < to; ++position) {
      const double start = slices[size_t(row->track->slices_of(*position).first)].start;
      painter.fillRect(QRectF(std::max(place.left(), x_at(start)), timeline_ruler - 4, 2, 6), theme().accent);
    }
  }
}

int TimelineCanvas::legend_room() const {
  return static_cast<int>(legend_height(legend(), QFontMetricsF(small_font()), width() - 2 * legend_side)) + 2;
}

TimelineCanvas::Hit TimelineCanvas::hit(const QPointF& point) const {
  if (!plan_ || point.y() < timeline_ruler || point.y() > height() - legend_room()) return {};
  for (size_t row = 0; row < rows_.size(); ++row) {
    const QRectF place = row_place(row);
    if (point.y() < place.top() || point.y() > place.bottom()) continue;
    if (point.x() < place.left() || point.x() > place.right()) return {&rows_[row], -1};
    const double pixel = (end() - begin()) / place.width(), at = time_at(point.x());
    const std::optional<int> slice = rows_[row].track->longest_in(at - 0.5 * pixel, at + 0.5 * pixel);
    const std::optional<int> near = slice ? slice : rows_[row].track->longest_in(at - 2 * pixel, at + 2 * pixel);
    return {&rows_[row], near.value_or(-1)};
  }
  return {};
}

QString TimelineCanvas::tip_at(const QPointF& point) {
  const Hit at = hit(point);
  if (const MemoryTrack* memory = at.row ? memory_of(*at.row) : nullptr; memory && point.x() >= left_)
    return memory_tip(*plan_, *memory, time_at(point.x()));
  if (at.row && at.slice >= 0) return slice_tip(workspace_, *plan_, trace_.get(), *at.row, at.slice);
  return at.row && at.row->device >= 0 && point.x() < left_ ? device_tip(*plan_, at.row->device) : QString();
}

void TimelineCanvas::click(const QPointF& point) {
  const Hit at = hit(point);
  if (at.row && at.row->rank >= 0) workspace_.selection.select_device(at.row->rank);
  if (at.row && at.row->device >= 0) workspace_.selection.select_device(at.row->device);
  if (!at.row || at.slice < 0) {
    if (!at.row) workspace_.selection.select_step(std::nullopt);
    return;
  }
  choose(Place{at.row->stage, slice_of(at).step});
  workspace_.selection.select_step(step_at(*plan_, chosen_->position, chosen_->stage));
  update();
  emit factsChanged();
}

double TimelineCanvas::predicted_start(int stage, int position) const {
  const TimelineTrack& track = predicted_->at(size_t(stage)).track;
  return track.slices()[size_t(track.slices_of(position).first)].start;
}

void TimelineCanvas::set_found(std::vector<std::vector<int>> found) {
  found_ = std::move(found);
  update();
}

void TimelineCanvas::reveal(int stage, int position) {
  const Row* row = plan_ ? row_of(stage) : nullptr;
  if (!row) return;
  choose(Place{stage, position});
  if (row->rank >= 0) workspace_.selection.select_device(row->rank);
  workspace_.selection.select_step(step_at(*plan_, position, stage));
  if (const std::optional<Range> range = chosen_range()) {
    const double length = range->second - range->first, middle = (range->first + range->second) / 2;
    const double span = std::min(end() - begin(), std::max(length, 1e-9) * 40);
    if (range->first < begin() || range->second > end() || span < end() - begin())
      show_window(middle - span / 2, middle + span / 2);
  }
  show_row(size_t(row - rows_.data()));
  emit factsChanged();
}

std::optional<TimeCanvas::Range> TimelineCanvas::chosen_range() const {
  const Row* row = chosen_ ? row_of(chosen_->stage) : nullptr;
  if (!row) return std::nullopt;
  const auto [first, last] = row->track->slices_of(chosen_->position);
  if (first == last) return std::nullopt;
  return Range(row->track->slices()[size_t(first)].start, row->track->slices()[size_t(last) - 1].end);
}

QString TimelineCanvas::facts() const {
  if (!plan_) return {};
  if (range()) return range_facts(rows_, *range());
  const Row* row = chosen_ ? row_of(chosen_->stage) : nullptr;
  return row ? step_facts(*plan_, trace_.get(), *row, chosen_->position, exposed_) : QString();
}

// With Shift, or beside the rows, the wheel scrolls the ranks.
void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const bool scrolls = event->modifiers().testFlag(Qt::ShiftModifier) || event->position().x() < left_;
  if (!scrolls || !scroll_->isVisible()) return TimeCanvas::wheelEvent(event);
  const int by = event->angleDelta().y() ? event->angleDelta().y() : event->angleDelta().x();
  scroll_->setValue(scroll_->value() - by);
  event->accept();
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up: return scroll_->triggerAction(QAbstractSlider::SliderSingleStepSub);
    case Qt::Key_Down: return scroll_->triggerAction(QAbstractSlider::SliderSingleStepAdd);
    case Qt::Key_PageUp: return scroll_->triggerAction(QAbstractSlider::SliderPageStepSub);
    case Qt::Key_PageDown: return scroll_->triggerAction(QAbstractSlider::SliderPageStepAdd);
    default: TimeCanvas::keyPressEvent(event);
  }
}

}  // namespace shardscope
