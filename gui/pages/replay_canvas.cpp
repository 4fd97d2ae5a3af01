#include "gui/pages/replay_canvas.h"

#include <QPainter>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "viz/paint/layout_geometry.h"
#include "viz/paint/replay_painter.h"
#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

constexpr double margin = 34, largest_replay_cell = 110, most_enlarged = 160;

}  // namespace

ReplayCanvas::ReplayCanvas(Workspace& workspace, QWidget* parent) : PanZoomCanvas(parent), workspace_(workspace) {
  setFocusPolicy(Qt::NoFocus);  // the keys are the player's
  setObjectName("replayCanvas");
  setAccessibleName(tr("The mesh, with the pieces that its devices exchange"));
  connect(&workspace.selection, &Selection::deviceChanged, this, qOverload<>(&QWidget::update));
}

void ReplayCanvas::show_replay(std::shared_ptr<const Replay> replay) {
  replay_ = std::move(replay);
  zoom_.show_all();
  picture_ = replay_ ? lay_out(replay_->plan->mesh) : MeshPicture();
  pieces_ = nullptr;
  still_.forget();
  update();
}

void ReplayCanvas::show_pieces(std::shared_ptr<const std::vector<TimedPiece>> pieces) { pieces_ = std::move(pieces); }

void ReplayCanvas::show_moment(const ReplayMoment& moment) {
  if (moment.leg != moment_.leg) still_.forget();
  moment_ = moment;
  update();
}

QRectF ReplayCanvas::room() const { return QRectF(rect()).adjusted(margin, margin, -12, -12); }

MeshPlace ReplayCanvas::place() const {
  MeshPlace at = fit(picture_, room(), largest_replay_cell);
  const QRectF seen = zoom_.apply({at.origin, QSizeF(at.cell, at.cell)});
  return {seen.topLeft(), seen.width()};
}

QRectF ReplayCanvas::device_rect(int device) const {
  return replay_ ? place().rect(picture_.place_of(device)) : QRectF();
}

std::optional<int> ReplayCanvas::device_under(const QPointF& point) const {
  if (!replay_ || !room().contains(point)) return std::nullopt;
  const MeshPlace at = place();
  const QPointF on_mesh = (point - at.origin) / at.cell;
  return device_at(picture_, on_mesh.x(), on_mesh.y());
}

void ReplayCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!replay_ || !pieces_) return;
  painter.setFont(small_font());
  const MeshPlace at = place();
  painter.setClipRect(room().adjusted(-2, -2, 2, 2));
  const std::optional<int> device = workspace_.selection.device();
  const bool has_device = device && *device < static_cast<int>(picture_.cell_of.size());
  const ReplayPicture picture{at, picture_, *replay_, moment_, *pieces_, has_device ? device : std::nullopt};
  if (devices_stay(at)) {
    const auto paint = [&](QPainter& to) {
      to.setClipRect(room());
      paint_devices(to, picture, theme());
    };
    still_.show(painter, rect(), paint, theme().base);
  } else {
    paint_devices(painter, picture, theme());
  }
  paint_pieces(painter, picture, theme());
  if (has_device) paint_ring(painter, at.rect(picture_.place_of(*device)), theme().accent, 3);
  painter.setClipping(false);
  const QRectF whole = at.rect({0, 0, picture_.width, picture_.height});
  paint_mesh_axes(painter, whole & room(), picture_, replay_->plan->mesh, theme());
}

void ReplayCanvas::zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers) {
  const MeshPlace whole = fit(picture_, room(), largest_replay_cell);
  zoom_.zoom(factor, point, most_enlarged / whole.cell);
  zoom_.keep_in(whole.rect({0, 0, picture_.width, picture_.height}), room());
  still_.forget();
  update();
}

void ReplayCanvas::zoom(double factor) { zoom_about(factor, room().center()); }

void ReplayCanvas::show_all() {
  zoom_.show_all();
  still_.forget();
  update();
}

void ReplayCanvas::resizeEvent(QResizeEvent*) { show_all(); }

void ReplayCanvas::drag(const QPointF& by, const QPointF&) {
  zoom_.pan(by);
  zoom_about(1, {});
}

void ReplayCanvas::click(const QPointF& point) { workspace_.selection.select_device(device_under(point)); }

QString ReplayCanvas::tip_at(const QPointF& point) {
  const std::optional<int> device = device_under(point);
  if (!device) return {};
  const ReplayLeg& leg = replay_->legs[moment_.leg];
  QString text = tr("Device %1 (%2)").arg(*device).arg(coordinates_text(replay_->plan->mesh, *device));
  if (leg.moves.holds_before(*device)) text += tr("\nbefore: %1").arg(qt(range_text(leg.moves.before(*device))));
  if (leg.moves.holds_after(*device)) text += tr("\nafter: %1").arg(qt(range_text(leg.moves.after(*device))));
  return text;
}

}  // namespace shardscope
