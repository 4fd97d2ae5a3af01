#pragma once

#include <QLabel>
#include <QSlider>
#include <QWidget>
#include <vector>

#include "engine/base/shape.h"

namespace shardscope {

// A slider for each leading dimension of an array of more than two: at its left end all pages are shown, elsewhere the
// one at an index.
class LayoutPins : public QWidget {
  Q_OBJECT
 public:
  explicit LayoutPins(QWidget* parent = nullptr);

  // Hidden where the shape has no pages; pins are taken away where it is another one.
  void show_shape(const Shape& shape);
  std::vector<int64_t> pins() const;  // -1: not
  QSlider* slider(int dim) const { return sliders_.at(static_cast<size_t>(dim)); }

 signals:
  void pinned();

 private:
  void show_text(size_t dim);

  Shape shape_;
  std::vector<QLabel*> labels_;
  std::vector<QSlider*> sliders_;
};

}  // namespace shardscope
