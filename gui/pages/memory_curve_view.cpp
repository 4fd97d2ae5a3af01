#include "gui/pages/memory_curve_view.h"

#include <QKeyEvent>
#include <QPainter>
#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/key_help.h"
#include "gui/pages/memory_axes.h"
#include "gui/pages/no_plan.h"
#include "gui/planning/disposal.h"
#include "viz/paint/pipeline_geometry.h"

namespace shardscope {
namespace {

constexpr double strip = 16;  // height of the phases

// Where labels stand that hide none of each other.
class LabelPlaces {
 public:
  static constexpr double height = 17;
  struct Corner {
    double x = 0, y = 0;    // of its top
    bool is_right = false;  // the right one
  };
  LabelPlaces(const QRectF& room, const QFontMetricsF& metrics) : room_(room), metrics_(metrics) {}

  void keep_free(const QRectF& place) { taken_.push_back(place); }

  // The first place that is free.
  std::optional<QRectF> take(const QString& text, std::initializer_list<Corner> corners) {
    const double width = metrics_.horizontalAdvance(text) + 10;
    for (const Corner& corner : corners) {
      const QRectF place(corner.x - (corner.is_right ? width : 0), corner.y, width, height);
      const auto meets = [&place](const QRectF& other) { return other.intersects(place); };
      if (!room_.contains(place) || std::ranges::any_of(taken_, meets)) continue;
      return taken_.emplace_back(place);
    }
    return std::nullopt;
  }

 private:
  QRectF room_;
  QFontMetricsF metrics_;
  std::vector<QRectF> taken_;
};

bool has_microbatches(const Plan& plan) { return plan.pipeline.shape.microbatches > 1; }

}  // namespace

MemoryCurveView::MemoryCurveView(Workspace& workspace, QWidget* parent)
    : TimeCanvas(parent), workspace_(workspace), background_([this](Made made) { take(std::move(made)); }) {
  setObjectName("memoryCurve");
  setAccessibleName(tr("Memory in use through a training step"));
  set_key_help(this, tr("Memory: in use"), time_keys() << KeyHelp{tr("P"), tr("go to the peak")});
  connect(&workspace.planner, &Planner::delivered, this, &MemoryCurveView::ask);
  connect(&workspace.selection, &Selection::deviceChanged, this, &MemoryCurveView::ask);
  connect(&workspace.selection, &Selection::stepChanged, this, qOverload<>(&QWidget::update));
}

QRectF MemoryCurveView::time_place() const {
  return QRectF(56, 30, std::max(20, width() - 76), std::max(20.0, height() - 56 - strip));
}

// A page that is not seen lets its plan go and takes the newest when it is shown.
void MemoryCurveView::ask() {
  const std::shared_ptr<const Plan> plan = isVisible() ? workspace_.planner.plan() : nullptr;
  const int stage = plan ? shown_stage(*plan, workspace_.selection) : -1;
  update();
  if (plan == asked_ && stage == asked_stage_) return;
  asked_ = plan;
  asked_stage_ = stage;
  if (!plan) {
    background_.cancel();
    return take({});
  }
  background_.make([plan, stage](const std::stop_token& stop) {
    return Made{plan, stage, share(memory_curve(*plan, stage, stop))};
  });
}

void MemoryCurveView::take(Made made) {
  plan_ = std::move(made.plan);
  stage_ = made.stage;
  curve_ = std::move(made.curve);
  chosen_.reset();
  drawn_.forget();
  set_seconds(curve_ ? double(curve_->totals.size()) : 0);
  update();
  emit changed();
}

void MemoryCurveView::show_peak() {
  chosen_.reset();
  update();
  emit changed();
}

QString MemoryCurveView::position_text(int position) const {
  const Sequence& sequence = plan_->program.main(stage_);
  const Instruction& instruction = plan_->instructions(stage_)[position];
  const TaskRun& run = run_at(sequence, position);
  const TaskLabel label = label_of(*plan_, run);
  const QString phase = label.is_repeated
                            ? tr("%1 of microbatch %2").arg(qt(name(instruction.phase))).arg(run.microbatch)
                            : qt(name(instruction.phase));
  return tr("instruction %1, %2 (%3)").arg(position).arg(qt(plan_->instruction_name(instruction)), phase);
}

double MemoryCurveView::highest() const {
  const double held = std::max({1.0, double(arena().bytes), double(curve_->totals[static_cast<size_t>(curve_->peak)])});
  return highest_drawn(held, plan_->memory_limit_bytes);
}

double MemoryCurveView::y_of(double bytes) const { return body().bottom() - bytes / highest() * body().height(); }

int MemoryCurveView::position_under(double x) const {
  return std::min(static_cast<int>(time_at(x)), static_cast<int>(curve_->totals.size()) - 1);
}

// One shape a category, each in front of the one that it stands on.
void MemoryCurveView::paint_curve(QPainter& painter) const {
  const QRectF at = body();
  const std::vector<int> peaks = column_peaks(curve_->totals, begin(), end(), static_cast<int>(at.width()));
  std::vector<double> heights(peaks.size(), 0);
  std::array<QPolygonF, memory_category_count> shapes;
  for (int category = 0; category < memory_category_count; ++category) {
    QPolygonF& shape = shapes[static_cast<size_t>(category)];
    shape << QPointF(0, at.height());
    for (size_t x = 0; x < peaks.size(); ++x) {
      heights[x] += double(curve_->bytes[static_cast<size_t>(peaks[x])][static_cast<size_t>(category)]);
      const double y = at.height() - heights[x] / highest() * at.height();
      shape << QPointF(double(x), y) << QPointF(double(x) + 1, y);
    }
    shape << QPointF(double(peaks.size()), at.height());
  }
  painter.setPen(Qt::NoPen);
  for (int category = memory_category_count - 1; category >= 0; --category) {
    painter.setBrush(category_color(static_cast<MemoryCategory>(category), theme()));
    painter.drawPolygon(shapes[static_cast<size_t>(category)]);
  }
}

void MemoryCurveView::paint_axes(QPainter& painter) const {
  const QRectF at = body();
  painter.setPen(theme().muted);
  const QRectF head(at.x(), 6, at.width(), 20);
  const QString title = plan_->stack.runs_here()
                            ? tr("In use through a training step")
                            : tr("In use through a training step, as %1 holds it").arg(qt(plan_->stack.name));
  const QString hint = tr("Wheel: zoom. Drag: pan. Click: choose an instruction. P: the peak.");
  painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(title, Qt::ElideRight, int(head.width())));
  if (!is_in_picture(*this) && painter.fontMetrics().horizontalAdvance(title + "    " + hint) < head.width())
    painter.drawText(head, Qt::AlignRight | Qt::AlignVCenter, hint);
  paint_byte_axis(painter, at, 0, highest());
  paint_instruction_axis(painter, at, at.bottom() + strip + 5, begin(), end() - 1);
}

// Spans narrower than a pixel are drawn as one; the next is looked for behind it.
void MemoryCurveView::paint_phases(QPainter& painter) const {
  const QRectF at = body();
  const std::vector<PhaseRange>& phases = curve_->phases;
  const Sequence& sequence = plan_->program.main(stage_);
  const double pixel = (end() - begin()) / at.width();
  auto span = std::ranges::lower_bound(phases, static_cast<int>(begin()), {}, &PhaseRange::last);
  while (span != phases.end() && span->first < end()) {
    const double left = std::max(at.x(), x_at(span->first)), right = std::min(at.right(), x_at(span->last + 1.0));
    const QRectF place(left, at.bottom() + 2, std::max(1.0, right - left), strip - 3);
    const QColor fill = phase_color(span->phase, theme());
    painter.fillRect(place, fill);
    const TaskLabel label = label_of(*plan_, sequence.runs[static_cast<size_t>(span->run)]);
    const bool is_numbered = label.is_repeated && span->phase != Phase::recompute && has_microbatches(*plan_);
    const QString phase = qt(name(span->phase)), brief = qt(label.text);
    for (const QString& text : {is_numbered ? phase + " " + brief : phase, is_numbered ? brief : QString()}) {
      if (text.isEmpty() || painter.fontMetrics().horizontalAdvance(text) + 6 > place.width()) continue;
      painter.setPen(text_on(fill));
      painter.drawText(place, Qt::AlignCenter, text);
      break;
    }
    const int reach = static_cast<int>(begin() + (place.right() - at.x()) * pixel);
    const auto next = std::ranges::lower_bound(span, phases.end(), reach, {}, &PhaseRange::last);
    span = std::max(next, std::next(span));
  }
}

void MemoryCurveView::paint_marks(QPainter& painter) const {
  const QRectF at = body();
  const auto line_at = [&](double position, const QPen& pen) {
    painter.setPen(pen);
    painter.drawLine(QPointF(x_at(position + 0.5), at.top()), QPointF(x_at(position + 0.5), at.bottom() + strip));
  };
  const auto held = double(arena().bytes), limit = double(plan_->memory_limit_bytes);
  const QColor of_limit = held > limit ? theme().error : theme().muted;
  const auto level = [&](double bytes, const QColor& color) {
    painter.setPen(QPen(color, 1, Qt::DashLine));
    painter.drawLine(QPointF(at.x(), y_of(bytes)), QPointF(at.right(), y_of(bytes)));
  };
  const bool has_limit = limit > 0 && limit <= highest();
  level(held, theme().muted);
  if (has_limit) level(limit, of_limit);
  painter.save();
  painter.setClipRect(at.adjusted(-6, -24, 6, strip));
  if (const std::optional<int> step = position_of(*plan_, workspace_.selection.step(), stage_); step && !chosen_)
    line_at(*step, QPen(theme().accent, 1, Qt::DotLine));
  if (chosen_) line_at(*chosen_, QPen(theme().accent, 2));
  const double bytes = double(curve_->totals[static_cast<size_t>(curve_->peak)]);
  line_at(curve_->peak, QPen(theme().error, 1, Qt::DashLine));
  const QPointF point(x_at(curve_->peak + 0.5), y_of(bytes));
  painter.setBrush(theme().error);
  painter.setPen(QPen(theme().base, 1));
  painter.drawEllipse(point, 4, 4);
  painter.restore();

  LabelPlaces places(at.adjusted(0, -8, 0, 0), painter.fontMetrics());
  places.keep_free(QRectF(point - QPointF(4, 4), QSizeF(8, 8)));
  const QString peak = tr("peak %1").arg(qt(bytes_text(bytes)));
  const double below = std::max(at.top(), point.y() + 4);
  if (at.left() <= point.x() && point.x() <= at.right())
    if (const auto place = places.take(peak, {{point.x() + 8, below, false}, {point.x() - 8, below, true}})) {
      painter.fillRect(*place, mix(theme().base, theme().error, 0.12));
      painter.setPen(theme().text);
      painter.drawText(*place, Qt::AlignCenter, peak);
    }
  const auto label = [&](double of, const QColor& color, const QString& text, double near, double far) {
    const auto at_end = [&](double x, double y) { return LabelPlaces::Corner{x, y, x == at.right()}; };
    const double on = y_of(of) - LabelPlaces::height / 2, beneath = y_of(of) + 1;
    const auto place =
        places.take(text, {at_end(near, on), at_end(far, on), at_end(near, beneath), at_end(far, beneath)});
    if (!place) return;
    painter.fillRect(*place, theme().base);
    painter.setPen(color);
    painter.drawText(*place, Qt::AlignCenter, text);
  };
  const QString holds = plan_->stack.runs_here() ? tr("arena %1") : tr("with the allocator %1");
  if (has_limit) label(limit, of_limit, tr("a device has %1").arg(qt(bytes_text(limit))), at.left(), at.right());
  label(held, theme().muted, holds.arg(qt(bytes_text(held))), at.right(), at.left());
}

void MemoryCurveView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!workspace_.planner.plan()) return paint_no_plan(painter, rect(), workspace_.planner);
  if (!curve_ || curve_->totals.empty()) return;
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setFont(small_font());
  paint_axes(painter);
  if (drawn_begin_ != begin() || drawn_end_ != end()) drawn_.forget();
  drawn_begin_ = begin();
  drawn_end_ = end();
  drawn_.show(painter, body(), [this](QPainter& to) { paint_curve(to); });
  painter.setRenderHint(QPainter::Antialiasing);
  paint_phases(painter);
  paint_marks(painter);
}

void MemoryCurveView::click(const QPointF& point) {
  if (!curve_ || curve_->totals.empty() || point.x() < body().left() || point.x() > body().right()) return;
  chosen_ = position_under(point.x());
  workspace_.selection.select_step(step_at(*plan_, *chosen_, stage_));
  update();
  emit changed();
}

QString MemoryCurveView::tip_at(const QPointF& point) {
  if (!curve_ || curve_->totals.empty() || !body().adjusted(0, 0, 0, strip).contains(point)) return {};
  const int position = position_under(point.x());
  QStringList lines{position_text(position),
                    tr("%1 in use").arg(qt(bytes_text(double(curve_->totals[static_cast<size_t>(position)]))))};
  for (int category = 0; category < memory_category_count; ++category) {
    const int64_t bytes = curve_->bytes[static_cast<size_t>(position)][static_cast<size_t>(category)];
    if (bytes > 0)
      lines << tr("%1: %2").arg(qt(name(static_cast<MemoryCategory>(category))), qt(exact_bytes(double(bytes))));
  }
  return lines.join('\n');
}

void MemoryCurveView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_P && event->modifiers() == Qt::NoModifier && curve_) return show_peak();
  TimeCanvas::keyPressEvent(event);
}

void MemoryCurveView::showEvent(QShowEvent*) { ask(); }

}  // namespace shardscope
