#include "viz/paint/replay_painter.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "viz/paint/tone_painter.h"

namespace shardscope {
namespace {

constexpr double smallest_array = 22;  // pixels of a device that shows the array in it

// An array in miniature: where its boxes are drawn.
class Miniature {
 public:
  Miniature(const Shape& shape, DrawnDims dims) : shape_(shape), dims_(dims) {
    const double rows = size(dims.row), columns = size(dims.column);
    aspect_ = std::clamp(columns / rows, 1 / 2.0, 2.0);
  }

  // The whole array inside a device's place.
  QRectF whole(const QRectF& device) const {
    const double head = device.height() >= 44 ? 15 : 3;
    QRectF room = device.adjusted(4, head, -4, -4);
    const double width = std::min(room.width(), room.height() * aspect_);
    const QSizeF size(width, width / aspect_);
    return {room.center() - QPointF(size.width(), size.height()) / 2, size};
  }

  QRectF box(const QRectF& whole, const Box& box) const {
    const auto [x, width] = range(box, dims_.column);
    const auto [y, height] = range(box, dims_.row);
    return {whole.x() + x * whole.width(), whole.y() + y * whole.height(), width * whole.width(),
            height * whole.height()};
  }

  // Parts of a box are cut in the order of its elements, which is nearly that of its rows.
  QRectF piece(const QRectF& whole, const MovedPiece& piece) const {
    const QRectF all = box(whole, piece.box);
    const double from = double(piece.part) / piece.parts, upto = double(piece.part + 1) / piece.parts;
    if (dims_.row < 0) return {all.x() + from * all.width(), all.y(), (upto - from) * all.width(), all.height()};
    return {all.x(), all.y() + from * all.height(), all.width(), (upto - from) * all.height()};
  }

 private:
  double size(int dim) const { return dim < 0 ? 1 : double(std::max<int64_t>(1, shape_[dim])); }
  std::pair<double, double> range(const Box& box, int dim) const {
    if (dim < 0 || shape_[dim] == 0) return {0, 1};
    return {double(box.start[dim]) / size(dim), double(box.size[dim]) / size(dim)};
  }

  Shape shape_;
  DrawnDims dims_;
  double aspect_ = 1;
};

class Scene {
 public:
  Scene(QPainter& painter, const ReplayPicture& picture, const Theme& theme)
      : painter_(painter),
        at_(picture.at),
        picture_(picture.mesh),
        replay_(picture.replay),
        moment_(picture.moment),
        leg_(picture.replay.legs[picture.moment.leg]),
        pieces_(picture.pieces),
        only_(picture.only),
        theme_(theme),
        small_(replay_.shape, drawn_dims(leg_)),
        is_over_(moment_.round == leg_.moves.rounds() - 1 && moment_.at >= leg_.turns),
        has_arrays_(!devices_stay(at_)) {}

  void paint_devices() {
    const QRectF seen = painter_.clipBoundingRect();
    for (const MeshCell& cell : picture_.cells)
      if (at_.rect(cell.place).intersects(seen)) paint_device(cell);
  }

  void paint_pieces() {
    if (is_over_) return;
    if (has_arrays_) paint_arrived();
    paint_flying();
  }

 private:
  // In the tones of its place in the group; of a send or a slice in all that it has.
  std::vector<AxisTone> tones(int device) const {
    std::vector<AxisTone> tones = device_tones(replay_.plan->mesh, device);
    const ArrayMove& move = leg_.moves.move();
    if (is_collective(move.kind))
      std::erase_if(tones, [&](const AxisTone& tone) { return !move.axes.contains(tone.axis); });
    return tones;
  }

  QRectF place(int device) const { return at_.rect(picture_.place_of(device)); }

  void paint_device(const MeshCell& cell) {
    const QRectF tile = at_.rect(cell.place).adjusted(1, 1, -1, -1);
    const bool takes_part = std::ranges::binary_search(leg_.devices, cell.device);
    if (!has_arrays_) {
      if (takes_part) paint_tones(painter_, tile, tones(cell.device), theme_);
      else painter_.fillRect(tile, mix(theme_.base, theme_.line, 0.4));
      return;
    }
    painter_.setPen(QPen(theme_.line, 1));
    painter_.setBrush(takes_part ? theme_.raised : theme_.base);
    painter_.drawRect(tile);
    if (at_.cell >= 44) {
      painter_.setPen(theme_.muted);
      painter_.drawText(tile.adjusted(4, 1, -2, 0), Qt::AlignLeft | Qt::AlignTop, QString::number(cell.device));
    }
    if (!takes_part) return;
    const QRectF whole = small_.whole(tile);
    painter_.setPen(Qt::NoPen);
    const bool before = !is_over_ && leg_.moves.holds_before(cell.device);
    const bool after = is_over_ && leg_.moves.holds_after(cell.device);
    if (before || after) {
      const QRectF held = small_.box(whole, before ? leg_.moves.before(cell.device) : leg_.moves.after(cell.device));
      const ArrayMove& move = leg_.moves.move();
      paint_tones(painter_, held, tones(cell.device), theme_);
      if ((before ? move.before : move.after).partial) paint_hatch(painter_, held, theme_);
    }
    painter_.setPen(QPen(theme_.muted, 1));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(whole);
    if (!is_over_ && leg_.moves.holds_after(cell.device)) {
      painter_.setPen(QPen(theme_.text, 1, Qt::DotLine));
      painter_.drawRect(small_.box(whole, leg_.moves.after(cell.device)));
    }
  }

  QRectF landing(const TimedPiece& timed, int device) const {
    return small_.piece(small_.whole(place(device).adjusted(1, 1, -1, -1)), timed.piece);
  }

  void paint_arrived() {
    std::map<std::pair<int, int>, int> summands;  // by device and part
    for (const TimedPiece& timed : pieces_) {
      if (timed.turn >= 0 && progress_of(timed, moment_) < 1) continue;
      if (timed.turn < 0 && timed.round > moment_.round) continue;
      const MovedPiece& piece = timed.piece;
      const QRectF at = landing(timed, piece.to);
      if (!piece.reduced) {
        paint_tones(painter_, at, tones(piece.from), theme_);
        painter_.setPen(QPen(theme_.base, 1));
        painter_.setBrush(Qt::NoBrush);
        painter_.drawRect(at);
        continue;
      }
      const int count = ++summands[{piece.to, piece.part}];
      const double share = double(count) / leg_.moves.group_size();
      painter_.fillRect(at, mix(theme_.base, fill_color(tones(piece.to), theme_), 0.25 + 0.75 * share));
      if (at.height() > 12 && at.width() > 26) {
        painter_.setPen(theme_.text);
        painter_.drawText(at, Qt::AlignCenter, QString("%1/%2").arg(count).arg(leg_.moves.group_size()));
      }
    }
  }

  AxisTone first_tone(int device) const {
    const std::vector<AxisTone> all = tones(device);
    return all.empty() ? AxisTone{} : all.front();
  }

  void paint_flying() {
    painter_.save();
    painter_.setRenderHint(QPainter::Antialiasing);
    for (const TimedPiece& timed : pieces_) {
      const double progress = progress_of(timed, moment_);
      if (timed.turn < 0 || timed.round != moment_.round || progress >= 1) continue;
      if (timed.turn > moment_.at) continue;
      if (only_ && timed.piece.from != *only_ && timed.piece.to != *only_) continue;
      paint_on_its_way(timed, progress);
    }
    painter_.restore();
  }

  void paint_on_its_way(const TimedPiece& timed, double progress) {
    const QRectF from = has_arrays_ ? landing(timed, timed.piece.from) : place(timed.piece.from);
    const QRectF to = has_arrays_ ? landing(timed, timed.piece.to) : place(timed.piece.to);
    const QPointF a = from.center(), b = to.center(), way = b - a;
    const double length = std::hypot(way.x(), way.y());
    if (length < 1) return;
    // A little to one side, so that there and back are two ways.
    const QPointF bend = QPointF(-way.y(), way.x()) / length * std::min(0.12 * length, 26.0);
    QPainterPath path(a);
    path.quadTo(a + way / 2 + bend, b);
    const QColor color = axis_like(timed.piece.from);
    painter_.setBrush(Qt::NoBrush);
    painter_.setPen(QPen(color, at_.cell >= 40 ? 1.6 : 1));
    painter_.drawPath(path);
    const QPointF along = b - (a + way / 2 + bend);
    const double reach = std::hypot(along.x(), along.y()), head = std::clamp(at_.cell * 0.09, 3.0, 7.0);
    if (reach > 1) {
      const QPointF unit = along / reach, across(-unit.y(), unit.x());
      painter_.setBrush(color);
      painter_.drawPolygon(
          QPolygonF({b, b - unit * head * 1.6 + across * head * 0.7, b - unit * head * 1.6 - across * head * 0.7}));
    }
    const double eased = progress * progress * (3 - 2 * progress), rest = 1 - eased;
    const QPointF here = a * rest * rest + (a + way / 2 + bend) * 2 * rest * eased + b * eased * eased;
    const QSizeF size = has_arrays_ ? QSizeF(std::max(6.0, from.width() + (to.width() - from.width()) * eased),
                                             std::max(6.0, from.height() + (to.height() - from.height()) * eased))
                                    : QSizeF(5, 5);
    const QRectF body(here - QPointF(size.width(), size.height()) / 2, size);
    paint_tones(painter_, body, tones(timed.piece.from), theme_);
    painter_.setBrush(Qt::NoBrush);
    painter_.setPen(QPen(theme_.text, 1));
    painter_.drawRect(body);
  }

  QColor axis_like(int device) const { return mix(axis_color(first_tone(device).axis, theme_), theme_.base, 0.25); }

  QPainter& painter_;
  const MeshPlace& at_;
  const MeshPicture& picture_;
  const Replay& replay_;
  ReplayMoment moment_;
  const ReplayLeg& leg_;
  const std::vector<TimedPiece>& pieces_;
  std::optional<int> only_;
  const Theme& theme_;
  Miniature small_;
  bool is_over_;
  bool has_arrays_;
};

}  // namespace

void paint_devices(QPainter& painter, const ReplayPicture& picture, const Theme& theme) {
  painter.save();
  painter.setClipRect(painter.hasClipping() ? painter.clipBoundingRect() : QRectF(painter.viewport()));
  Scene(painter, picture, theme).paint_devices();
  painter.restore();
}

void paint_pieces(QPainter& painter, const ReplayPicture& picture, const Theme& theme) {
  painter.save();
  Scene(painter, picture, theme).paint_pieces();
  painter.restore();
}

bool devices_stay(const MeshPlace& at) { return at.cell < smallest_array; }

}  // namespace shardscope
