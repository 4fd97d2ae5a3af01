#pragma once

#include <QColor>
#include <QIconEngine>

namespace shardscope {

// An icon that is drawn anew from its SVG in whatever size is asked for, so that it is sharp on dense screens;
// "currentColor" is one colour, and another where it is disabled.
class SvgIcon : public QIconEngine {
 public:
  SvgIcon(QByteArray svg, QColor normal, QColor disabled)
      : svg_(std::move(svg)), normal_(std::move(normal)), disabled_(std::move(disabled)) {}

  void paint(QPainter* painter, const QRect& place, QIcon::Mode mode, QIcon::State state) override;
  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override;
  QIconEngine* clone() const override { return new SvgIcon(*this); }
  bool isNull() override { return svg_.isEmpty(); }

 private:
  QByteArray svg_;
  QColor normal_, disabled_;
};

}  // namespace shardscope
