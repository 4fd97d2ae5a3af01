#include "gui/pages/layout_page.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "gui/look/fitted_name.h"
#include "gui/pages/no_plan.h"
#include "gui/planning/disposal.h"
#include "viz/paint/layout_painter.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

constexpr double margin = 20;
constexpr double heading_height = 64;
constexpr double legend_height = 34;
constexpr double label_space = 26;
constexpr double largest_cell = 76;

}  // namespace

LayoutPage::LayoutPage(Workspace& workspace, QWidget* parent) : TipWidget(parent), workspace_(workspace) {
  setObjectName("layoutPage");
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Layout of the selected array on the mesh"));
  connect(&workspace.planner, &Planner::delivered, this, &LayoutPage::expect_change);
  connect(&workspace.planner, &Planner::requested, this, qOverload<>(&QWidget::update));
  connect(&workspace.selection, &Selection::arrayChanged, this, &LayoutPage::expect_change);
  connect(&workspace.selection, &Selection::deviceChanged, this, qOverload<>(&QWidget::update));
  connect(&look(), &Look::changed, this, [this] { drawn_ = QPixmap(); });
}

void LayoutPage::showEvent(QShowEvent*) { expect_change(); }

// A page that is not seen lets its plan go and takes the newest when it is shown.
void LayoutPage::expect_change() {
  is_stale_ = true;
  if (!isVisible() || !workspace_.planner.plan()) scene_.reset();
  update();
}

void LayoutPage::renew() {
  if (!std::exchange(is_stale_, false)) return;
  const std::shared_ptr<const Scene> before = std::exchange(scene_, nullptr);
  drawn_ = QPixmap();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (!plan) return;
  std::optional<ArrayFacts> facts = array_facts(workspace_, workspace_.selection.array());
  if (!facts || !facts->sharding || !divides(*facts->sharding, plan->mesh, facts->shape)) return;
  Scene scene;
  scene.plan = plan;
  scene.array = lay_out(facts->shape, *facts->sharding, plan->mesh);
  for (int device = 0; device < plan->mesh.device_count(); ++device)
    if (!is_held_by(*facts, plan->stage_of(device))) take_away(scene.array, device);
  scene.facts = std::move(*facts);
  scene.mesh = before && before->plan->mesh == plan->mesh ? before->mesh : share(lay_out(plan->mesh));
  scene_ = share(std::move(scene));
  arrange();
}

void LayoutPage::arrange() {
  if (!scene_) return;
  const QRectF body(margin, heading_height, width() - 2 * margin, height() - heading_height - legend_height - margin);
  const double mesh_label = label_space + 8;
  const double mesh_width =
      std::clamp(scene_->mesh->width * largest_cell + mesh_label, 90.0, std::max(120.0, body.width() * 0.4));
  const QRectF mesh_place(body.right() - mesh_width + mesh_label, body.top() + label_space, mesh_width - mesh_label,
                          body.height() - label_space);
  mesh_cell_ = mesh_cell_pixels(*scene_->mesh, mesh_place, largest_cell);
  mesh_origin_ = {mesh_place.right() - scene_->mesh->width * mesh_cell_, mesh_place.top()};
  const double gap = 36;
  const PictureRect room{body.left() + label_space, body.top() + label_space,
                         std::max(40.0, mesh_origin_.x() - mesh_label - gap - body.left() - label_space),
                         std::max(40.0, body.height() - label_space)};
  const PictureRect place = fit(scene_->array.aspect, room);
  array_place_ = QRectF(place.x, place.y, place.width, place.height);
  mesh_origin_.setX(std::min(
      mesh_origin_.x(), std::max(array_place_.right() + gap + mesh_label + 40, body.left() + body.width() * 0.45)));
}

QRectF LayoutPage::device_rect(int device) {
  renew();
  return device_place(device);
}

QRectF LayoutPage::shard_rect(int device) {
  renew();
  return shard_place(device);
}

QRectF LayoutPage::device_place(int device) const {
  if (scene_)
    for (const MeshCell& cell : scene_->mesh->cells)
      if (cell.device == device) return cell_place(mesh_origin_, mesh_cell_, cell);
  return {};
}

QRectF LayoutPage::shard_place(int device) const {
  if (!scene_) return {};
  const std::optional<int> cell = cell_of_device(scene_->array, device);
  return cell ? cell_place(array_place_, scene_->array.cells[*cell]) : QRectF();
}

std::optional<int> LayoutPage::device_under(const QPointF& point) const {
  if (!scene_) return std::nullopt;
  const QPointF on_mesh = (point - mesh_origin_) / mesh_cell_;
  if (const std::optional<int> device = device_at(*scene_->mesh, on_mesh.x(), on_mesh.y())) return device;
  const QRectF& at = array_place_;
  const std::optional<int> cell =
      cell_at(scene_->array, (point.x() - at.x()) / at.width(), (point.y() - at.y()) / at.height());
  return cell ? std::optional(scene_->array.cells[*cell].devices.front()) : std::nullopt;
}

void LayoutPage::draw() {
  drawn_ = QPixmap(size() * devicePixelRatioF());
  drawn_.setDevicePixelRatio(devicePixelRatioF());
  drawn_.fill(Qt::transparent);
  QPainter painter(&drawn_);
  painter.setFont(small_font());
  paint_array(painter, array_place_, scene_->array, *scene_->facts.sharding, scene_->plan->mesh, theme());
  paint_mesh(painter, mesh_origin_, mesh_cell_, *scene_->mesh, scene_->plan->mesh, theme());
  QColor veil = theme().base;
  veil.setAlphaF(0.8F);
  for (const MeshCell& cell : scene_->mesh->cells)
    if (!cell_of_device(scene_->array, cell.device)) painter.fillRect(cell_place(mesh_origin_, mesh_cell_, cell), veil);
}

// What is hovered stands out from the rest, what is chosen has a ring.
void LayoutPage::paint_marks(QPainter& painter) {
  const Mesh& mesh = scene_->plan->mesh;
  const std::optional<int> hovered = workspace_.selection.hovered_device();
  const std::optional<int> lit = hovered ? cell_of_device(scene_->array, *hovered) : std::nullopt;
  const double opacity = painter.opacity();
  if (lit) painter.setOpacity(0.45 * opacity);
  painter.drawPixmap(0, 0, drawn_);
  painter.setOpacity(opacity);
  if (lit) {
    paint_cell(painter, array_place_, scene_->array, *lit, *scene_->facts.sharding, mesh, theme());
    paint_ring(painter, cell_place(array_place_, scene_->array.cells[*lit]), theme().text, 2);
    for (const MeshCell& cell : scene_->mesh->cells) {
      if (scene_->array.cell_of[cell.device] != *lit) continue;
      const QRectF place = cell_place(mesh_origin_, mesh_cell_, cell);
      paint_cell(painter, place, cell, mesh, theme());
      paint_ring(painter, place.adjusted(1.5, 1.5, -1.5, -1.5), theme().text, mesh_cell_ < 12 ? 1 : 2);
    }
  }
  const std::optional<int> chosen = workspace_.selection.device();
  if (!chosen || *chosen >= mesh.device_count()) return;
  if (cell_of_device(scene_->array, *chosen)) paint_ring(painter, shard_place(*chosen), theme().accent, 3);
  paint_ring(painter, device_place(*chosen).adjusted(1.5, 1.5, -1.5, -1.5), theme().accent, 3);
}

void LayoutPage::paintEvent(QPaintEvent*) {
  renew();
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!workspace_.planner.plan()) return paint_no_plan(painter, rect(), workspace_.planner);
  if (!scene_)
    return paint_empty_state(painter, rect(), tr("Select an array"),
                             tr("Choose a parameter on the left to see how it lies on the mesh."));
  if (!workspace_.planner.is_current() && !workspace_.planner.is_busy()) painter.setOpacity(0.45);
  paint_heading(painter);
  if (drawn_.isNull() || drawn_.devicePixelRatio() != devicePixelRatioF()) draw();
  paint_marks(painter);
  paint_array_labels(painter);
  paint_mesh_labels(painter);
  paint_legend(painter);
}

void LayoutPage::paint_heading(QPainter& painter) const {
  const ArrayFacts& facts = scene_->facts;
  const Mesh& mesh = scene_->plan->mesh;
  QFont font = this->font();
  font.setPointSizeF(font.pointSizeF() * 1.2);
  font.setBold(true);
  painter.setFont(font);
  painter.setPen(theme().text);
  const int wide = width() - 2 * static_cast<int>(margin);
  painter.drawText(QRect(int(margin), 12, wide, 24), Qt::AlignLeft | Qt::AlignVCenter,
                   fitted_name(facts.title, painter.fontMetrics(), wide));
  painter.setFont(this->font());
  painter.setPen(theme().muted);
  const int64_t local = element_count(local_shape(*facts.sharding, mesh, facts.shape)) * byte_size(facts.dtype);
  const size_t copies = scene_->array.cells.front().devices.size();
  const QString line = tr("%1 %2, %3   |   %4 a device   |   %5")
                           .arg(qt(to_string(facts.shape)), qt(name(facts.dtype)),
                                qt(to_string(*facts.sharding, mesh)), qt(bytes_text(double(local))),
                                copies == 1 ? tr("no replicas") : tr("%1 copies of each shard").arg(copies)) +
                       (facts.stages.empty() ? QString() : tr("   |   stage %1").arg(stages_text(facts.stages)));
  painter.drawText(QRect(int(margin), 36, wide, 20), Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(line, Qt::ElideRight, wide));
}

void LayoutPage::paint_array_labels(QPainter& painter) const {
  const ArrayFacts& facts = scene_->facts;
  const QRectF& at = array_place_;
  painter.setFont(small_font());
  painter.setPen(theme().muted);
  const auto label = [&](const std::vector<int>& dims) {
    if (dims.empty()) return facts.shape.empty() ? tr("scalar") : QString();
    QStringList numbers;
    for (int d : dims) numbers << QString::number(d);
    return tr("dim %1: %2").arg(numbers.join(QString(" \u00d7 ")), qt(dimension_text(facts.shape, dims)));
  };
  QString across = label(scene_->array.column_dims);
  if (!scene_->array.to_scale && !scene_->array.row_dims.empty()) across += tr("  (not to scale)");
  painter.drawText(QRectF(at.x(), at.y() - label_space, std::max(at.width(), 260.0), label_space - 4),
                   Qt::AlignLeft | Qt::AlignBottom, across);
  painter.save();
  painter.translate(at.x() - label_space + 2, at.bottom());
  painter.rotate(-90);
  painter.drawText(QRectF(0, 0, at.height(), label_space - 6), Qt::AlignRight | Qt::AlignBottom,
                   label(scene_->array.row_dims.empty() ? std::vector<int>{} : scene_->array.row_dims));
  painter.restore();
}

void LayoutPage::paint_mesh_labels(QPainter& painter) const {
  const Mesh& mesh = scene_->plan->mesh;
  painter.setFont(small_font());
  // Along the rows the text is turned, so that it reads upwards: there the arrow that points back points down, as
  // coordinates grow.
  const auto draw_axes = [&](const std::vector<AxisIndex>& axes, const QRectF& place, bool turned) {
    const QFontMetricsF metrics(painter.font());
    QStringList parts;
    for (size_t i = 0; i < axes.size(); ++i)
      parts << (i ? ", " : "") + qt(mesh.axes()[axes[i]].name) + QString(" %1").arg(mesh.axes()[axes[i]].size);
    turned ? parts.front().prepend(QString("\u2190 ")) : parts.back().append(QString(" \u2192"));
    double x = turned ? place.right() - metrics.horizontalAdvance(parts.join("")) : place.left();
    for (size_t i = 0; i < axes.size(); ++i) {
      const QString& part = parts[static_cast<qsizetype>(i)];
      painter.setPen(axis_color(axes[i], theme()));
      painter.drawText(QRectF(x, place.top(), metrics.horizontalAdvance(part) + 4, place.height()),
                       Qt::AlignLeft | Qt::AlignBottom, part);
      x += metrics.horizontalAdvance(part);
    }
  };
  const QPointF& at = mesh_origin_;
  const QSizeF size(scene_->mesh->width * mesh_cell_, scene_->mesh->height * mesh_cell_);
  if (!scene_->mesh->column_axes.empty())
    draw_axes(scene_->mesh->column_axes, QRectF(at.x(), at.y() - label_space, 200, label_space - 4), false);
  if (scene_->mesh->row_axes.empty()) return;
  painter.save();
  painter.translate(at.x() - label_space, at.y() + size.height());
  painter.rotate(-90);
  draw_axes(scene_->mesh->row_axes, QRectF(0, 0, std::max(size.height(), 0.0), label_space - 6), true);
  painter.restore();
}

void LayoutPage::paint_legend(QPainter& painter) const {
  const Mesh& mesh = scene_->plan->mesh;
  painter.setFont(small_font());
  const QFontMetricsF metrics(painter.font());
  double x = margin;
  const double y = height() - legend_height;
  const auto swatch = [&](const QString& text, auto fill) {
    if (x + 26 + metrics.horizontalAdvance(text) > width() - margin) return;
    const QRectF box(x, y + 8, 16, 12);
    fill(box);
    painter.setPen(theme().muted);
    painter.drawText(QRectF(x + 22, y, metrics.horizontalAdvance(text) + 4, 28), Qt::AlignVCenter, text);
    x += metrics.horizontalAdvance(text) + 44;
  };
  for (int i = 0; i < mesh.axis_count(); ++i) {
    const auto axis = static_cast<AxisIndex>(i);
    const int64_t count = mesh.axis_size(axis);
    if (count < 2) continue;
    swatch(tr("%1 0\u2026%2").arg(qt(mesh.axes()[axis].name)).arg(count - 1), [&](const QRectF& box) {
      for (int part = 0; part < 4; ++part)
        painter.fillRect(QRectF(box.x() + part * 4, box.y(), 4, box.height()), tone_color({axis, part, 4}, theme()));
    });
  }
  const bool copies = scene_->array.cells.front().devices.size() > 1;
  if (copies)
    swatch(tr("hatched: several devices hold the same data"), [&](const QRectF& box) {
      paint_tones(painter, box, {}, theme());
      paint_hatch(painter, box, theme());
    });
  if (!scene_->facts.stages.empty())
    swatch(tr("pale: devices of other stages"),
           [&](const QRectF& box) { painter.fillRect(box, mix(theme().base, theme().line, 0.4)); });
  swatch(tr("numbers are devices (ranks)"), [&](const QRectF& box) {
    painter.setPen(theme().muted);
    painter.drawText(box, Qt::AlignCenter, "0");
  });
}

QString LayoutPage::tip_at(const QPointF& point) {
  renew();
  const std::optional<int> under = device_under(point);
  if (!under) return {};
  const int device = *under;
  const Mesh& mesh = scene_->plan->mesh;
  const std::optional<int> held = cell_of_device(scene_->array, device);
  if (!held)
    return tr("Device %1 (%2) holds none of it: it lies on the devices of stage %3")
        .arg(device)
        .arg(coordinates_text(mesh, device), stages_text(scene_->facts.stages));
  const ShardCell& cell = scene_->array.cells[*held];
  const bool on_mesh = device_place(device).contains(point);
  const int64_t bytes = element_count(cell.box.size) * byte_size(scene_->facts.dtype);
  QString text = on_mesh ? tr("Device %1 (%2) holds ").arg(device).arg(coordinates_text(mesh, device)) : tr("Shard ");
  text += qt(range_text(cell.box)) + ", " + qt(exact_bytes(double(bytes)));
  text += cell.devices.size() > 1 ? tr("\nHeld by devices %1").arg(qt(device_text(cell.devices)))
                                  : tr("\nHeld by device %1 alone").arg(cell.devices.front());
  return text;
}

void LayoutPage::resizeEvent(QResizeEvent*) {
  renew();
  arrange();
  drawn_ = QPixmap();
}

void LayoutPage::mouseMoveEvent(QMouseEvent* event) {
  renew();
  workspace_.selection.hover_device(device_under(event->position()));
}

void LayoutPage::mousePressEvent(QMouseEvent* event) {
  renew();
  setFocus(Qt::MouseFocusReason);
  workspace_.selection.select_device(device_under(event->position()));
}

void LayoutPage::leaveEvent(QEvent*) { workspace_.selection.hover_device(std::nullopt); }

void LayoutPage::keyPressEvent(QKeyEvent* event) {
  renew();
  if (!scene_) return QWidget::keyPressEvent(event);
  if (event->key() == Qt::Key_Escape) {
    workspace_.selection.select_device(std::nullopt);
    return;
  }
  const bool across = event->key() == Qt::Key_Left || event->key() == Qt::Key_Right;
  const bool down = event->key() == Qt::Key_Up || event->key() == Qt::Key_Down;
  if (!across && !down) return QWidget::keyPressEvent(event);
  const int sign = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down ? 1 : -1;
  if (!workspace_.selection.device()) return workspace_.selection.select_device(0);
  const QRectF from = device_rect(*workspace_.selection.device());
  std::optional<int> best;
  double nearest = 0;
  for (const MeshCell& cell : scene_->mesh->cells) {
    const QPointF delta = cell_place(mesh_origin_, mesh_cell_, cell).center() - from.center();
    const double along = sign * (across ? delta.x() : delta.y()), aside = across ? delta.y() : delta.x();
    if (along <= 1 || std::abs(aside) > 1) continue;
    if (!best || along < nearest) {
      best = cell.device;
      nearest = along;
    }
  }
  if (best) workspace_.selection.select_device(best);
}

}  // namespace shardscope
