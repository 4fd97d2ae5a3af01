#pragma once

#include <QLabel>

namespace shardscope {

// A label whose text wraps in the width that its layout gives it. A QLabel looks for a width of its own that suits the
// text, and breaks the text out several times for that.
class WrappedLabel : public QLabel {
  Q_OBJECT
 public:
  explicit WrappedLabel(QWidget* parent = nullptr) : QLabel(parent) { setWordWrap(true); }
  QSize sizeHint() const override { return {200, fontMetrics().height()}; }
  QSize minimumSizeHint() const override { return {80, fontMetrics().height()}; }
};

}  // namespace shardscope
