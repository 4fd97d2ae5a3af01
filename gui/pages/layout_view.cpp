#include "gui/pages/layout_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "gui/look/fitted_name.h"
#include "gui/look/in_picture.h"
#include "gui/look/key_help.h"
#include "gui/look/legend.h"
#include "gui/pages/no_plan.h"
#include "gui/planning/disposal.h"
#include "viz/paint/layout_painter.h"

namespace shardscope {
namespace {

constexpr double layout_margin = 20;
constexpr double heading_height = 64;
constexpr double legend_margin = 8;
constexpr double label_space = 26;
constexpr double largest_cell = 76;
constexpr double most_enlarged_device = 150;  // pixels
constexpr double most_enlarged_array = 400;   // times
constexpr double smallest_marked = 8;         // pixels of a device that has a frame
constexpr double page_label_space = 16;
constexpr double mesh_begin = 0.45;  // where there is room: from this part of the width on

std::vector<int> hosts_of(const Plan& plan) {
  std::vector<int> host_of;
  const auto& ranks = plan.ranks_per_host;
  if (ranks.size() < 2) return host_of;
  for (size_t host = 0; host < ranks.size(); ++host) host_of.insert(host_of.end(), size_t(ranks[host]), int(host));
  host_of.resize(size_t(plan.mesh.device_count()), int(ranks.size()) - 1);
  return host_of;
}

}  // namespace

LayoutView::LayoutView(Workspace& workspace, QWidget* parent) : PanZoomCanvas(parent), workspace_(workspace) {
  setObjectName("layoutView");
  setAccessibleName(tr("Layout of the selected array on the mesh"));
  set_key_help(this, tr("Layout"),
               {{tr("Arrows"), tr("go from device to device")},
                {tr("Escape"), tr("select no device")},
                {tr("+, -"), tr("zoom")},
                {tr("Ctrl+Arrows"), tr("pan")},
                {tr("0"), tr("show all")}});
  connect(&workspace.planner, &Planner::delivered, this, &LayoutView::expect_change);
  connect(&workspace.planner, &Planner::requested, this, qOverload<>(&QWidget::update));
  connect(&workspace.selection, &Selection::arrayChanged, this, &LayoutView::expect_change);
  for (const auto signal : {&Selection::deviceChanged, &Selection::hoverChanged})
    connect(&workspace.selection, signal, this, qOverload<>(&QWidget::update));
}

void LayoutView::showEvent(QShowEvent*) { expect_change(); }

// A page that is not seen lets its plan go and takes the newest when it is shown.
void LayoutView::expect_change() {
  is_stale_ = true;
  if (!isVisible() || !workspace_.planner.plan()) scene_.reset();
  update();
  if (!is_in_picture(*this) || !isVisible()) return;
  renew();
  updateGeometry();
}

QSize LayoutView::minimumSizeHint() const {
  if (!is_in_picture(*this)) return {280, 120};
  if (!scene_) return {400, 200};
  const QFontMetricsF small(small_font());
  const double heading = std::max(QFontMetricsF(title_font()).horizontalAdvance(scene_->facts.title),
                                  QFontMetricsF(font()).horizontalAdvance(facts_text(*scene_)));
  const double columns = (small.horizontalAdvance(columns_text(*scene_)) + 3 * label_space) / mesh_begin;
  const double wide =
      std::max({heading, columns, least_legend_width(layout_legend(*scene_), small)}) + 2 * layout_margin;
  const double picture = std::max(200.0, small.horizontalAdvance(rows_text(*scene_)));
  const double high = heading_height + label_space + page_label_space + picture + legend_room() + layout_margin;
  return {int(std::ceil(wide)) + 1, int(std::ceil(high))};
}

void LayoutView::set_pins(std::vector<int64_t> pins) {
  if (pins == pins_) return;
  pins_ = std::move(pins);
  array_zoom_.show_all();
  expect_change();
}

void LayoutView::renew() {
  if (!std::exchange(is_stale_, false)) return;
  const std::shared_ptr<const LayoutScene> before = std::exchange(scene_, nullptr);
  pictures_.forget();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan) return;
  std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  if (!facts || !facts->sharding || !divides(*facts->sharding, plan->mesh, facts->shape)) return;
  LayoutScene scene;
  scene.plan = plan;
  scene.array = lay_out(facts->shape, *facts->sharding, plan->mesh, pins_);
  if (!facts->stages.empty()) keep(scene.array, [&](int device) { return is_held_by(*facts, plan->stage_of(device)); });
  scene.host_of = before && before->plan == plan ? before->host_of : hosts_of(*plan);
  const bool same_mesh = before && before->plan->mesh == plan->mesh;
  scene.mesh = same_mesh ? before->mesh : share(lay_out(plan->mesh));
  if (!same_mesh) mesh_zoom_.show_all();
  if (!before || before->facts.array != facts->array) array_zoom_.show_all();
  scene.facts = std::move(*facts);
  scene_ = share(std::move(scene));
  arrange();
}

void LayoutView::arrange() {
  if (!scene_) return;
  const QRectF body(layout_margin, heading_height, width() - 2 * layout_margin,
                    height() - heading_height - legend_room() - layout_margin);
  const double mesh_label = label_space + 8, gap = 36;
  const double mesh_width =
      std::clamp(scene_->mesh->width * largest_cell, 90.0, std::max(120.0, body.width() * 0.42 - mesh_label));
  const double pages = scene_->array.pages.empty() ? 0 : page_label_space;
  mesh_room_ = QRectF(body.right() - mesh_width, body.top() + label_space, mesh_width,
                      std::max(40.0, body.height() - label_space));
  mesh_whole_ = fit(*scene_->mesh, mesh_room_, largest_cell);
  const double array_right = mesh_room_.left() + mesh_width / 2 - scene_->mesh->width * mesh_whole_.cell / 2;
  array_room_ = QRectF(body.left() + label_space, body.top() + label_space + pages,
                       std::max(40.0, array_right - mesh_label - gap - body.left() - label_space),
                       std::max(40.0, body.height() - label_space - pages));
  const PictureRect at =
      fit(scene_->array.aspect, {array_room_.x(), array_room_.y(), array_room_.width(), array_room_.height()});
  array_whole_ = QRectF(at.x, at.y, at.width, at.height);
  mesh_whole_.origin.setX(mesh_room_.right() - scene_->mesh->width * mesh_whole_.cell);
  mesh_whole_.origin.setX(std::min(mesh_whole_.origin.x(), std::max(array_whole_.right() + gap + mesh_label + 40,
                                                                    body.left() + body.width() * mesh_begin)));
  mesh_room_.setLeft(std::min(mesh_room_.left(), mesh_whole_.origin.x()));
  mesh_whole_ = fit(*scene_->mesh, mesh_room_, largest_cell);
  mesh_whole_.origin.setX(mesh_room_.left());
  array_room_.setRight(std::min(array_room_.right(), mesh_whole_.origin.x() - mesh_label - 8));
}

MeshPlace LayoutView::mesh_place() const {
  const QRectF seen = mesh_zoom_.apply({mesh_whole_.origin, QSizeF(mesh_whole_.cell, mesh_whole_.cell)});
  return {seen.topLeft(), seen.width()};
}

QRectF LayoutView::array_place() const { return array_zoom_.apply(array_whole_); }

QRectF LayoutView::device_rect(int device) {
  renew();
  return device_place(device);
}

QRectF LayoutView::shard_rect(int device) {
  renew();
  return shard_place(device);
}

QRectF LayoutView::device_place(int device) const {
  if (!scene_ || device < 0 || device >= scene_->plan->mesh.device_count()) return {};
  return mesh_place().rect(scene_->mesh->place_of(device));
}

QRectF LayoutView::shard_place(int device) const {
  if (!scene_) return {};
  const std::optional<int> cell = cell_of_device(scene_->array, device);
  return cell ? cell_place(array_place(), scene_->array.cells[*cell]) : QRectF();
}

std::optional<LayoutView::Part> LayoutView::part_under(const QPointF& point) const {
  if (!scene_) return std::nullopt;
  if (mesh_room_.contains(point)) return Part::mesh;
  return array_room_.adjusted(0, -page_label_space, 0, 0).contains(point) ? std::optional(Part::array) : std::nullopt;
}

std::optional<int> LayoutView::device_under(const QPointF& point) const {
  const std::optional<Part> part = part_under(point);
  if (!part) return std::nullopt;
  if (*part == Part::mesh) {
    const MeshPlace at = mesh_place();
    const QPointF on_mesh = (point - at.origin) / at.cell;
    return device_at(*scene_->mesh, on_mesh.x(), on_mesh.y());
  }
  const QRectF at = array_place();
  const std::optional<int> cell =
      cell_at(scene_->array, (point.x() - at.x()) / at.width(), (point.y() - at.y()) / at.height());
  return cell && !scene_->array.cells[*cell].devices.empty() ? std::optional(scene_->array.cells[*cell].devices.front())
                                                             : std::nullopt;
}

void LayoutView::zoom(Part part, double factor, const QPointF& about) {
  touched_ = part;
  if (part == Part::mesh) {
    mesh_zoom_.zoom(factor, about, most_enlarged_device / mesh_whole_.cell);
  } else {
    array_zoom_.zoom(factor, about, most_enlarged_array);
  }
  pan(part, {});
}

void LayoutView::pan(Part part, const QPointF& by) {
  if (!scene_) return;
  PictureZoom& zoom = part == Part::mesh ? mesh_zoom_ : array_zoom_;
  zoom.pan(by);
  if (part == Part::mesh) zoom.keep_in(mesh_whole_.rect({0, 0, scene_->mesh->width, scene_->mesh->height}), mesh_room_);
  else zoom.keep_in(array_whole_, array_room_);
  pictures_.forget();
  update();
}

void LayoutView::show_all(Part part) {
  (part == Part::mesh ? mesh_zoom_ : array_zoom_).show_all();
  arrange();
  pictures_.forget();
  update();
}

void LayoutView::show_all() {
  for (const Part part : {Part::array, Part::mesh}) show_all(part);
}

void LayoutView::paint_pictures(QPainter& painter) const {
  painter.setFont(small_font());
  painter.setClipRect(array_room_.adjusted(-1, -page_label_space, 1, 1));
  paint_array(painter, array_place(), scene_->array, *scene_->facts.sharding, scene_->plan->mesh, theme());
  painter.setClipRect(mesh_room_);
  paint_mesh(painter, mesh_place(), *scene_->mesh, scene_->plan->mesh, scene_->host_of, theme());
  QColor veil = theme().base;
  veil.setAlphaF(0.8F);
  for (const MeshCell& cell : scene_->mesh->cells)
    if (!cell_of_device(scene_->array, cell.device)) painter.fillRect(mesh_place().rect(cell.place), veil);
}

// What is hovered stands out from the rest, what is chosen has a ring.
void LayoutView::paint_marks(QPainter& painter) {
  const Mesh& mesh = scene_->plan->mesh;
  const std::optional<int> hovered = workspace_.selection.hovered_device();
  const std::optional<int> lit = hovered ? cell_of_device(scene_->array, *hovered) : std::nullopt;
  const double opacity = painter.opacity();
  if (lit) painter.setOpacity(0.45 * opacity);
  pictures_.show(
      painter, rect(), [this](QPainter& to) { paint_pictures(to); }, theme().base);
  painter.setOpacity(opacity);
  if (lit) {
    painter.setClipRect(array_room_.adjusted(-1, -1, 1, 1));
    paint_cell(painter, array_place(), scene_->array, *lit, *scene_->facts.sharding, mesh, theme());
    paint_ring(painter, cell_place(array_place(), scene_->array.cells[*lit]), theme().text, 2);
    painter.setClipRect(mesh_room_);
    const MeshPlace at = mesh_place();
    Fills fills(theme());
    for (const MeshCell& cell : scene_->mesh->cells) {
      const QRectF place = at.rect(cell.place);
      if (scene_->array.cell_of[cell.device] != *lit || !place.intersects(mesh_room_)) continue;
      if (at.cell < smallest_marked) {
        painter.fillRect(place, fills(device_tones(mesh, cell.device)));
        continue;
      }
      paint_device(painter, place, cell.device, mesh, theme());
      paint_ring(painter, place.adjusted(1, 1, -1, -1), theme().text, at.cell < 12 ? 1 : 2);
    }
  }
  const std::optional<int> chosen = workspace_.selection.device();
  if (chosen && *chosen < mesh.device_count()) {
    painter.setClipRect(array_room_.adjusted(-2, -2, 2, 2));
    if (cell_of_device(scene_->array, *chosen)) paint_ring(painter, shard_place(*chosen), theme().accent, 3);
    painter.setClipRect(mesh_room_.adjusted(-2, -2, 2, 2));
    const double inset = mesh_place().cell < 8 ? -2 : 1.5;
    paint_ring(painter, device_place(*chosen).adjusted(inset, inset, -inset, -inset), theme().accent, 3);
  }
  painter.setClipping(false);
}

void LayoutView::paintEvent(QPaintEvent*) {
  renew();
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!workspace_.planner.plan()) return paint_no_plan(painter, rect(), workspace_.planner);
  if (!scene_)
    return paint_empty_state(painter, rect(), tr("Select an array"),
                             tr("Choose a parameter on the left to see how it is sharded over the mesh."));
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  paint_marks(painter);
  paint_heading(painter);
  paint_array_labels(painter);
  const QRectF mesh = mesh_place().rect({0, 0, scene_->mesh->width, scene_->mesh->height}) & mesh_room_;
  painter.setFont(small_font());
  paint_mesh_axes(painter, mesh, *scene_->mesh, scene_->plan->mesh, theme());
  const double room = legend_room();
  paint_legend(painter, QRectF(layout_margin, height() - room, width() - 2 * layout_margin, room),
               layout_legend(*scene_));
}

QFont LayoutView::title_font() const {
  QFont font = this->font();
  font.setPointSizeF(font.pointSizeF() * 1.2);
  font.setBold(true);
  return font;
}

void LayoutView::paint_heading(QPainter& painter) const {
  painter.setFont(title_font());
  painter.setPen(theme().text);
  const int wide = width() - 2 * static_cast<int>(layout_margin);
  painter.drawText(QRect(int(layout_margin), 12, wide, 24), Qt::AlignLeft | Qt::AlignVCenter,
                   fitted_name(scene_->facts.title, painter.fontMetrics(), wide));
  painter.setFont(this->font());
  painter.setPen(theme().muted);
  painter.drawText(QRect(int(layout_margin), 36, wide, 20), Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(facts_text(*scene_), Qt::ElideRight, wide));
}

void LayoutView::paint_array_labels(QPainter& painter) const {
  const QRectF at = array_place() & array_room_;
  const double above = label_space + (scene_->array.pages.empty() ? 0 : page_label_space);
  painter.setFont(small_font());
  painter.setPen(theme().muted);
  // As far as the names of the mesh's axes.
  const QRectF mesh = mesh_place().rect({0, 0, scene_->mesh->width, scene_->mesh->height}) & mesh_room_;
  const double room = std::max(at.width(), mesh.left() - 2 * label_space - at.x());
  painter.drawText(QRectF(at.x(), at.y() - above, room, label_space - 4), Qt::AlignLeft | Qt::AlignBottom,
                   painter.fontMetrics().elidedText(columns_text(*scene_), Qt::ElideRight, static_cast<int>(room)));
  const double down = std::max(at.height(), array_room_.bottom() - at.top());
  painter.save();
  painter.translate(at.x() - label_space + 2, at.top() + down);
  painter.rotate(-90);
  painter.drawText(QRectF(0, 0, down, label_space - 6), Qt::AlignRight | Qt::AlignBottom,
                   painter.fontMetrics().elidedText(rows_text(*scene_), Qt::ElideRight, int(down)));
  painter.restore();
}

double LayoutView::legend_room() const {
  return legend_height(layout_legend(*scene_), QFontMetricsF(small_font()), width() - 2 * layout_margin) +
         legend_margin;
}

QString LayoutView::tip_at(const QPointF& point) {
  renew();
  const std::optional<int> under = device_under(point);
  if (!under) return {};
  return device_tip(*scene_, *under, part_under(point) == Part::mesh);
}

void LayoutView::resizeEvent(QResizeEvent*) {
  renew();
  array_zoom_.show_all();
  mesh_zoom_.show_all();
  arrange();
}

void LayoutView::zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers) {
  renew();
  if (const std::optional<Part> part = part_under(point)) zoom(*part, factor, point);
}

void LayoutView::press(const QMouseEvent& event) {
  renew();
  dragged_ = part_under(event.position());
  touched_ = dragged_.value_or(touched_);
}

void LayoutView::drag(const QPointF& by, const QPointF&) {
  renew();
  if (dragged_) pan(*dragged_, by);
}

void LayoutView::click(const QPointF& point) {
  renew();
  workspace_.selection.select_device(device_under(point));
}

void LayoutView::double_click(const QPointF& point) {
  renew();
  if (const std::optional<Part> part = part_under(point)) show_all(*part);
}

void LayoutView::hover(const QPointF& point) {
  renew();
  workspace_.selection.hover_device(device_under(point));
}

void LayoutView::leaveEvent(QEvent*) { workspace_.selection.hover_device(std::nullopt); }

void LayoutView::keyPressEvent(QKeyEvent* event) {
  renew();
  if (!scene_) return QWidget::keyPressEvent(event);
  constexpr double stride = 60;  // pixels
  const QPointF middle = (touched_ == Part::mesh ? mesh_room_ : array_room_).center();
  QPointF way;
  switch (event->key()) {
    case Qt::Key_Escape: return workspace_.selection.select_device(std::nullopt);
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(touched_, 1.3, middle);
    case Qt::Key_Minus: return zoom(touched_, 1 / 1.3, middle);
    case Qt::Key_0: return show_all();
    case Qt::Key_Left: way = {-1, 0}; break;
    case Qt::Key_Right: way = {1, 0}; break;
    case Qt::Key_Up: way = {0, -1}; break;
    case Qt::Key_Down: way = {0, 1}; break;
    default: return QWidget::keyPressEvent(event);
  }
  if (event->modifiers() & Qt::ControlModifier) return pan(touched_, -way * stride);
  choose_neighbour(way);
}

void LayoutView::choose_neighbour(const QPointF& way) {
  const std::optional<int> chosen = workspace_.selection.device();
  if (!chosen || *chosen >= scene_->plan->mesh.device_count()) return workspace_.selection.select_device(0);
  const PictureRect from = scene_->mesh->place_of(*chosen);
  std::optional<int> best;
  double nearest = 0;
  for (const MeshCell& cell : scene_->mesh->cells) {
    const QPointF delta(cell.place.x - from.x, cell.place.y - from.y);
    const double along = QPointF::dotProduct(delta, way), aside = delta.x() * way.y() - delta.y() * way.x();
    if (along < 0.5 || std::abs(aside) > 0.5 || (best && along >= nearest)) continue;
    best = cell.device;
    nearest = along;
  }
  if (!best) return;
  mesh_zoom_.reveal(mesh_whole_.rect(scene_->mesh->place_of(*best)), mesh_room_);
  pictures_.forget();
  workspace_.selection.select_device(best);
}

}  // namespace shardscope
