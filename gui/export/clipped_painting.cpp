#include "gui/export/clipped_painting.h"

#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainterPath>
#include <QPainterPathStroker>

namespace shardscope {
namespace {

class ClippingEngine : public QPaintEngine {
 public:
  explicit ClippingEngine(QPainter& to) : QPaintEngine(AllFeatures), to_(to) {}

  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  Type type() const override { return User; }

  void updateState(const QPaintEngineState& state) override {
    const DirtyFlags changed = state.state();
    if (changed & DirtyPen) to_.setPen(state.pen());
    if (changed & DirtyBrush) to_.setBrush(state.brush());
    if (changed & DirtyBrushOrigin) to_.setBrushOrigin(state.brushOrigin());
    if (changed & DirtyFont) to_.setFont(state.font());
    if (changed & DirtyOpacity) to_.setOpacity(state.opacity());
    if (changed & DirtyBackground) to_.setBackground(state.backgroundBrush());
    if (changed & DirtyTransform) to_.setTransform(state.transform());
    if (changed & DirtyClipEnabled) is_clipped_ = state.isClipEnabled() && !clip_.isEmpty();
    if (changed & DirtyClipRegion) {
      QPainterPath path;
      path.addRegion(state.clipRegion());
      clip(state.clipOperation(), state.transform().map(path));
    }
    if (changed & DirtyClipPath) clip(state.clipOperation(), state.transform().map(state.clipPath()));
  }

  void drawPath(const QPainterPath& path) override {
    const double margin = to_.pen().style() == Qt::NoPen ? 0 : to_.pen().widthF() + 1;
    if (is_whole(path.boundingRect().adjusted(-margin, -margin, margin, margin))) return to_.drawPath(path);
    const QPainterPath seen = seen_here();
    to_.save();
    const QPen pen = to_.pen();
    to_.setPen(Qt::NoPen);
    if (to_.brush().style() != Qt::NoBrush) to_.drawPath(path.intersected(seen));
    if (pen.style() != Qt::NoPen) {
      QPainterPathStroker stroker(pen);
      if (pen.widthF() == 0) stroker.setWidth(1);
      to_.setBrush(pen.brush());
      to_.drawPath(stroker.createStroke(path).intersected(seen));
    }
    to_.restore();
  }

  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
    QPainterPath path;
    path.addPolygon(QPolygonF(QList<QPointF>(points, points + count)));
    path.setFillRule(mode == WindingMode ? Qt::WindingFill : Qt::OddEvenFill);
    if (mode != PolylineMode) path.closeSubpath();
    to_.save();
    if (mode == PolylineMode) to_.setBrush(Qt::NoBrush);
    drawPath(path);
    to_.restore();
  }

  void drawPixmap(const QRectF& place, const QPixmap& pixmap, const QRectF& part) override {
    if (const auto [seen, seen_part] = seen_of(place, part); !seen.isEmpty()) to_.drawPixmap(seen, pixmap, seen_part);
  }

  void drawImage(const QRectF& place, const QImage& image, const QRectF& part,
                 Qt::ImageConversionFlags flags) override {
    if (const auto [seen, seen_part] = seen_of(place, part); !seen.isEmpty())
      to_.drawImage(seen, image, seen_part, flags);
  }

  void drawTextItem(const QPointF& at, const QTextItem& text) override {
    const QRectF place(at.x(), at.y() - text.ascent(), text.width(), text.ascent() + text.descent());
    if (!is_clipped_ || clip_.contains(to_.transform().map(place.center()))) to_.drawTextItem(at, text);
  }

 private:
  void clip(Qt::ClipOperation operation, const QPainterPath& path) {
    is_clipped_ = operation != Qt::NoClip;
    clip_ = operation == Qt::IntersectClip && !clip_.isEmpty() ? clip_.intersected(path) : path;
  }

  bool is_whole(const QRectF& place) const { return !is_clipped_ || clip_.contains(to_.transform().mapRect(place)); }

  QPainterPath seen_here() const { return to_.transform().inverted().map(clip_); }

  // The part of a picture that is seen, as a rectangle, and where that is.
  std::pair<QRectF, QRectF> seen_of(const QRectF& place, const QRectF& part) const {
    if (is_whole(place)) return {place, part};
    const QRectF seen = place & seen_here().boundingRect();
    const double across = part.width() / place.width(), down = part.height() / place.height();
    return {seen,
            {part.x() + (seen.x() - place.x()) * across, part.y() + (seen.y() - place.y()) * down,
             seen.width() * across, seen.height() * down}};
  }

  QPainter& to_;
  QPainterPath clip_;  // in the device's coordinates
  bool is_clipped_ = false;
};

class ClippingDevice : public QPaintDevice {
 public:
  ClippingDevice(QPainter& to, QSize size) : engine_(to), to_(to), size_(size) {}
  QPaintEngine* paintEngine() const override { return &engine_; }

 protected:
  int metric(PaintDeviceMetric metric) const override {
    switch (metric) {
      case PdmWidth: return size_.width();
      case PdmHeight: return size_.height();
      case PdmDpiX:
      case PdmPhysicalDpiX: return to_.device()->logicalDpiX();
      case PdmDpiY:
      case PdmPhysicalDpiY: return to_.device()->logicalDpiY();
      case PdmDevicePixelRatio: return 1;
      case PdmDevicePixelRatioScaled: return qRound(devicePixelRatioFScale());
      case PdmDepth: return 32;
      default: return 0;
    }
  }

 private:
  mutable ClippingEngine engine_;
  QPainter& to_;
  QSize size_;
};

}  // namespace

void play_clipped(const QPicture& picture, QPainter& painter, QSize size) {
  ClippingDevice device(painter, size);
  QPainter clipped(&device);
  clipped.drawPicture(0, 0, picture);
}

}  // namespace shardscope
