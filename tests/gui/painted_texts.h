#pragma once

#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPicture>
#include <QRegularExpression>
#include <algorithm>
#include <vector>

namespace shardscope {

// A text of a picture: where it stands, and the part of the picture that is painted at that moment (empty: all).
struct PaintedText {
  QString text;
  QRectF place, clip;

  // But for what letters hang over.
  bool is_inside(const QRectF& around) const {
    const QRectF core = place.adjusted(1.5, place.height() / 2 - 1, -1.5, 1 - place.height() / 2);
    return around.contains(core);
  }
};

// All texts that playing a picture paints.
class TextsOf : public QPaintDevice {
 public:
  explicit TextsOf(const QPicture& picture) {
    QPainter painter(this);
    painter.drawPicture(0, 0, picture);
  }

  const std::vector<PaintedText>& list() const { return engine_.texts; }
  bool has(const QString& text) const {
    return std::ranges::any_of(list(), [&](const PaintedText& one) { return one.text.contains(text); });
  }

  QPaintEngine* paintEngine() const override { return &engine_; }

 protected:
  int metric(PaintDeviceMetric metric) const override {
    switch (metric) {
      case PdmWidth:
      case PdmHeight: return 1 << 20;
      case PdmDpiX:
      case PdmDpiY:
      case PdmPhysicalDpiX:
      case PdmPhysicalDpiY: return 96;
      case PdmDevicePixelRatio: return 1;
      case PdmDevicePixelRatioScaled: return qRound(devicePixelRatioFScale());
      case PdmDepth: return 32;
      default: return 0;
    }
  }

 private:
  struct Engine : QPaintEngine {
    Engine() : QPaintEngine(AllFeatures) {}
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    Type type() const override { return User; }
    void updateState(const QPaintEngineState& state) override {
      const DirtyFlags changed = state.state();
      if (changed & DirtyTransform) transform = state.transform();
      if (changed & DirtyClipEnabled && !state.isClipEnabled()) clip = {};
      QPainterPath path;
      if (changed & DirtyClipRegion) path.addRegion(state.clipRegion());
      else if (changed & DirtyClipPath) path = state.clipPath();
      else return;
      const QRectF bounds = state.transform().mapRect(path.boundingRect());
      if (state.clipOperation() == Qt::NoClip) clip = {};
      else clip = state.clipOperation() == Qt::IntersectClip && !clip.isEmpty() ? clip & bounds : bounds;
    }
    void drawTextItem(const QPointF& at, const QTextItem& text) override {
      const QRectF place(at.x(), at.y() - text.ascent(), text.width(), text.ascent() + text.descent());
      if (!text.text().trimmed().isEmpty()) texts.push_back({text.text(), transform.mapRect(place), clip});
    }
    void drawPath(const QPainterPath&) override {}
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}

    QTransform transform;
    QRectF clip;
    std::vector<PaintedText> texts;
  };

  mutable Engine engine_;
};

// An ellipsis between numbers is a range.
inline bool is_cut(const QString& text) {
  static const QRegularExpression dots("\u2026(?![0-9])|(?<![0-9])\u2026|\\.\\.\\.");
  return text.contains(dots);
}

inline bool is_hint(const QString& text) {
  static const QRegularExpression of_mouse_and_keys("\\b(click|wheel|drag|zoom|finds)\\b|Ctrl",
                                                    QRegularExpression::CaseInsensitiveOption);
  return text.contains(of_mouse_and_keys);
}

}  // namespace shardscope
