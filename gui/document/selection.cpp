#include "gui/document/selection.h"

namespace shardscope {

void Selection::select_array(const QString& key) {
  if (array_ == key) return;
  array_ = key;
  emit arrayChanged();
}

void Selection::select_device(int device) {
  if (device_ == device) return;
  device_ = device;
  emit deviceChanged();
}

void Selection::hover_device(int device) {
  if (hovered_device_ == device) return;
  hovered_device_ = device;
  emit deviceChanged();
}

void Selection::select_step(int step) {
  if (step_ == step) return;
  step_ = step;
  emit stepChanged();
}

}  // namespace shardscope
