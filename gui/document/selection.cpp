#include "gui/document/selection.h"

namespace shardscope {

void Selection::select_array(const ArrayRef& array) {
  if (array_ == array) return;
  array_ = array;
  emit arrayChanged();
}

void Selection::select_device(std::optional<int> device) {
  if (device_ == device) return;
  device_ = device;
  emit deviceChanged();
}

void Selection::hover_device(std::optional<int> device) {
  if (hovered_device_ == device) return;
  hovered_device_ = device;
  emit hoverChanged();
}

void Selection::select_step(std::optional<StepRef> step) {
  if (step_ == step) return;
  step_ = step;
  emit stepChanged();
}

}  // namespace shardscope
