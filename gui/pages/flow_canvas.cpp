#include "gui/pages/flow_canvas.h"

#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/pages/flow_words.h"
#include "gui/pages/no_plan.h"
#include "gui/planning/disposal.h"
#include "gui/workspace/array_of_value.h"

namespace shardscope {
namespace {

constexpr double largest_scale = 2.5;

QPointF centre(const PictureRect& place) { return {place.x + place.width / 2, place.y + place.height / 2}; }

}  // namespace

FlowCanvas::FlowCanvas(Workspace& workspace, QWidget* parent)
    : PanZoomCanvas(parent), workspace_(workspace), background_([this](Made made) { take(std::move(made)); }) {
  setObjectName("flowGraph");
  setAccessibleName(tr("Instructions of the program as a graph"));
  setAccessibleDescription(tr("Arrow keys go from instruction to instruction, C to the next collective."));
  set_key_help(this, tr("Flow"),
               {{tr("Arrows"), tr("go from instruction to instruction")},
                {tr("C, Shift+C"), tr("next, previous collective")},
                {tr("Return"), tr("select the array")},
                {tr("F3, Shift+F3"), tr("next, previous that was found")},
                {tr("+, -"), tr("zoom")},
                {tr("Page Up, Page Down"), tr("scroll")},
                {tr("Home"), tr("show all")}});
  connect(&workspace.planner, &Planner::delivered, this, &FlowCanvas::ask);
  connect(&workspace.selection, &Selection::deviceChanged, this, &FlowCanvas::ask);
  connect(&workspace.selection, &Selection::stepChanged, this, &FlowCanvas::follow_step);
}

// A page that is not seen lets its plan go and takes the newest when it is shown.
void FlowCanvas::ask() {
  Made wanted;
  if (isVisible()) wanted.plan = workspace_.planner.plan();
  if (wanted.plan) wanted.stage = shown_stage(*wanted.plan, workspace_.selection);
  wanted.fold = fold_;
  update();
  if (wanted.plan == asked_.plan && wanted.stage == asked_.stage && wanted.fold == asked_.fold) return;
  asked_ = wanted;
  if (!wanted.plan) {
    background_.cancel();
    return take({});
  }
  background_.make([wanted](const std::stop_token&) {
    Made made = wanted;
    made.graph = share(flow_graph(*wanted.plan, wanted.stage, wanted.fold));
    return made;
  });
}

void FlowCanvas::take(Made made) {
  plan_ = std::move(made.plan);
  graph_ = std::move(made.graph);
  step_words_.set_plan(plan_);
  words_ = graph_ ? flow_words(plan_, graph_) : FlowWords();
  if (graph_ && is_in_picture(*this)) make_roomy();
  hovered_ = selected_ = -1;
  find();
  set_view(scale_, origin_);
  follow_step();
  emit changed();
}

void FlowCanvas::make_roomy() {
  FlowGraph roomy = *graph_;
  lay_out_roomy(roomy, words_, font());
  graph_ = share(std::move(roomy));
  words_ = flow_words(plan_, graph_);
  updateGeometry();
}

QSize FlowCanvas::minimumSizeHint() const {
  if (!is_in_picture(*this) || !graph_) return {240, 120};
  return {int(std::ceil(graph_->width * first_scale)), int(std::ceil(graph_->height * first_scale))};
}

void FlowCanvas::set_fold(bool fold) {
  fold_ = fold;
  ask();
}

void FlowCanvas::follow_step() {
  const std::optional<StepRef> step = workspace_.selection.step();
  const int node = graph_ && step ? graph_->find(*step) : -1;
  update();
  if (node == selected_) return;
  selected_ = node;
  if (node >= 0) bring_into_view(node);
  emit changed();
}

void FlowCanvas::search(const QString& text) {
  searched_ = text.split(' ', Qt::SkipEmptyParts);
  find();
  update();
  emit changed();
}

void FlowCanvas::find() {
  found_.clear();
  found_list_.clear();
  if (!graph_ || searched_.isEmpty()) return;
  for (size_t n = 0; n < graph_->nodes.size(); ++n) {
    found_.push_back(std::ranges::any_of(graph_->nodes[n].steps,
                                         [this](InstructionId step) { return step_words_.has(step, searched_); }));
    if (found_.back()) found_list_.push_back(static_cast<int>(n));
  }
}

int FlowCanvas::found_at() const {
  const auto at = std::ranges::lower_bound(found_list_, selected_);
  return at != found_list_.end() && *at == selected_ ? static_cast<int>(at - found_list_.begin()) : -1;
}

void FlowCanvas::go_found(int by) {
  if (found_list_.empty()) return;
  const auto next =
      by > 0 ? std::ranges::upper_bound(found_list_, selected_) : std::ranges::lower_bound(found_list_, selected_);
  if (by > 0) return select(next == found_list_.end() ? found_list_.front() : *next);
  select(next == found_list_.begin() ? found_list_.back() : *std::prev(next));
}

void FlowCanvas::go_collective(int by) {
  if (!graph_) return;
  const int count = static_cast<int>(graph_->nodes.size());
  for (int i = 1, n = selected_; i <= count; ++i) {
    n = selected_ < 0 && i == 1 && by < 0 ? count - 1 : (n + by + count) % count;
    if (is_communication(graph_->nodes[static_cast<size_t>(n)].kind)) return select(n);
  }
}

// To the nearest node in a direction.
void FlowCanvas::go(double dx, double dy) {
  if (!graph_ || graph_->nodes.empty()) return;
  if (selected_ < 0) return select(std::max(0, node_at(*graph_, origin_.x(), origin_.y())));
  const QPointF from = centre(graph_->nodes[static_cast<size_t>(selected_)].place);
  int nearest = -1;
  double least = 1e300;
  for (size_t n = 0; n < graph_->nodes.size(); ++n) {
    const QPointF by = centre(graph_->nodes[n].place) - from;
    const double along = by.x() * dx + by.y() * dy, across = std::abs(by.x() * dy) + std::abs(by.y() * dx);
    if (along < 1) continue;
    const double distance = along + 5 * across;
    if (distance >= least) continue;
    least = distance;
    nearest = static_cast<int>(n);
  }
  if (nearest >= 0) select(nearest);
}

void FlowCanvas::select(int node) {
  if (node < 0) return;
  workspace_.selection.select_step(graph_->nodes[static_cast<size_t>(node)].steps.front());
  bring_into_view(node);
}

void FlowCanvas::select_array() {
  if (selected_ < 0) return;
  const Instruction* instruction = find_step(*plan_, graph_->nodes[static_cast<size_t>(selected_)].steps.front());
  const std::span<const int> values =
      instruction->destinations().empty() ? instruction->operands() : instruction->destinations();
  if (values.empty()) return;
  const ArrayRef array = array_of_value(workspace_.planner, *plan_, plan_->program.values[values.front()].graph_value);
  if (is_array(array)) workspace_.selection.select_array(array);
}

QRectF FlowCanvas::place_of(int node) const {
  const PictureRect& place = graph_->nodes[static_cast<size_t>(node)].place;
  return {(QPointF(place.x, place.y) - origin_) * scale_, QSizeF(place.width, place.height) * scale_};
}

void FlowCanvas::bring_into_view(int node) {
  const QRectF place = place_of(node).adjusted(-12, -40, 12, 12);
  QPointF by;
  if (place.left() < 0 || place.width() > width()) by.setX(place.left());
  else if (place.right() > width()) by.setX(place.right() - width());
  if (place.top() < 0 || place.height() > height()) by.setY(place.top());
  else if (place.bottom() > height()) by.setY(place.bottom() - height());
  if (!by.isNull()) set_view(scale_, origin_ + by / scale_);
}

double FlowCanvas::possible(double scale) const {
  const double fitting = std::min(width() / std::max(1.0, graph_->width), height() / std::max(1.0, graph_->height));
  return std::clamp(scale, std::min(fitting, first_scale), largest_scale);
}

void FlowCanvas::set_view(double scale, const QPointF& origin) {
  if (!graph_) return;
  scale_ = possible(scale);
  const auto keep = [](double at, double all, double seen) { return std::clamp(at, 0.0, std::max(0.0, all - seen)); };
  origin_ = {keep(origin.x(), graph_->width, width() / scale_), keep(origin.y(), graph_->height, height() / scale_)};
  update();
}

void FlowCanvas::zoom_about(double factor, const QPointF& about, Qt::KeyboardModifiers) {
  if (!graph_) return;
  const QPointF held = picture_point(about);
  const double scale = possible(scale_ * factor);
  set_view(scale, held - about / scale);
}

void FlowCanvas::show_all() { set_view(0, {}); }

void FlowCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!workspace_.planner.plan()) return paint_no_plan(painter, rect(), workspace_.planner);
  if (!graph_) return;
  if (graph_->nodes.empty())
    return paint_empty_state(painter, rect(), tr("Nothing is computed"), tr("This stage has no instructions."));
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(scale_, scale_);
  painter.translate(-origin_);
  const QRectF visible(origin_, QSizeF(size()) / scale_);
  const FlowMarks marks{selected_, hovered_, searched_.isEmpty() ? nullptr : &found_};
  paint_flow(painter, *graph_, visible, scale_, words_, marks, font(), theme());
}

void FlowCanvas::showEvent(QShowEvent*) { ask(); }

// What is selected stays in view when the page shows its cause beneath.
void FlowCanvas::resizeEvent(QResizeEvent* event) {
  const QRectF before(QPointF(), event->oldSize());
  const bool was_seen = graph_ && selected_ >= 0 && before.contains(place_of(selected_).center());
  set_view(scale_, origin_);
  if (was_seen) bring_into_view(selected_);
}

void FlowCanvas::drag(const QPointF& by, const QPointF&) { set_view(scale_, origin_ - by / scale_); }

int FlowCanvas::node_under(const QPointF& point) const {
  const QPointF at = picture_point(point);
  return graph_ ? node_at(*graph_, at.x(), at.y()) : -1;
}

void FlowCanvas::hover(const QPointF& point) {
  const int before = std::exchange(hovered_, node_under(point));
  if (hovered_ != before) update();
}

void FlowCanvas::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void FlowCanvas::keyPressEvent(QKeyEvent* event) {
  const int by = event->modifiers() & Qt::ShiftModifier ? -1 : 1;
  const QPointF middle = rect().center();
  switch (event->key()) {
    case Qt::Key_Left: return go(-1, 0);
    case Qt::Key_Right: return go(1, 0);
    case Qt::Key_Up: return go(0, -1);
    case Qt::Key_Down: return go(0, 1);
    case Qt::Key_C: return go_collective(by);
    case Qt::Key_F3: return go_found(by);
    case Qt::Key_Plus: return zoom_about(1.25, middle);
    case Qt::Key_Minus: return zoom_about(0.8, middle);
    case Qt::Key_PageUp: return set_view(scale_, origin_ - QPointF(0, 0.8 * height() / scale_));
    case Qt::Key_PageDown: return set_view(scale_, origin_ + QPointF(0, 0.8 * height() / scale_));
    case Qt::Key_Home: return show_all();
    case Qt::Key_Return:
    case Qt::Key_Enter: return select_array();
    default: QWidget::keyPressEvent(event);
  }
}

QString FlowCanvas::tip_at(const QPointF& point) {
  if (!graph_) return {};
  if (const int node = node_under(point); node >= 0) return node_tip(*plan_, graph_->nodes[static_cast<size_t>(node)]);
  const QPointF at = picture_point(point);
  const auto [first, end] = lanes_between(*graph_, at.y(), at.y());
  for (int lane = first; lane < end; ++lane)
    if (graph_->lanes[static_cast<size_t>(lane)].place.contains(at.x(), at.y())) return lane_tip(*plan_, *graph_, lane);
  return {};
}

}  // namespace shardscope
