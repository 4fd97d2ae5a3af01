#include "gui/pages/layout_pins.h"

#include <QHBoxLayout>
#include <algorithm>

#include "viz/paint/layout_geometry.h"

namespace shardscope {

LayoutPins::LayoutPins(QWidget* parent) : QWidget(parent) {
  setObjectName("layoutPins");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(6);
  hide();
}

void LayoutPins::show_shape(const Shape& shape) {
  if (shape == shape_) return;
  shape_ = shape;
  for (QLabel* label : labels_) delete label;
  for (QSlider* slider : sliders_) delete slider;
  labels_.clear();
  sliders_.clear();
  for (int dim = 0; dim < page_dims(shape); ++dim) {
    auto* label = new QLabel(this);
    auto* slider = new QSlider(Qt::Horizontal, this);
    slider->setObjectName(QString("pin%1").arg(dim));
    slider->setAccessibleName(tr("page along dimension %1").arg(dim));
    slider->setToolTip(tr("Cuts through dimension %1 at an index, so that one page is seen; at the left end all pages "
                          "are.")
                           .arg(dim));
    slider->setRange(-1, static_cast<int>(std::min<int64_t>(shape[dim], 1 << 30)) - 1);
    slider->setValue(-1);
    slider->setMinimumWidth(50);
    label->setBuddy(slider);
    layout()->addWidget(label);
    layout()->addWidget(slider);
    labels_.push_back(label);
    sliders_.push_back(slider);
    const auto number = static_cast<size_t>(dim);
    show_text(number);
    connect(slider, &QSlider::valueChanged, this, [this, number] {
      show_text(number);
      emit pinned();
    });
  }
  setVisible(!sliders_.empty());
}

void LayoutPins::show_text(size_t dim) {
  const int at = sliders_[dim]->value();
  labels_[dim]->setText(at < 0 ? tr("dim %1: all %2").arg(dim).arg(shape_[dim])
                               : tr("dim %1 at %2 of %3").arg(dim).arg(at).arg(shape_[dim]));
}

std::vector<int64_t> LayoutPins::pins() const {
  std::vector<int64_t> pins;
  for (const QSlider* slider : sliders_) pins.push_back(slider->value());
  return pins;
}

}  // namespace shardscope
