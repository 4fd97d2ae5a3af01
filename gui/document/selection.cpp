#include "gui/document/selection.h"

#include <algorithm>
#include <utility>

namespace shardscope {

void Selection::select_array(const ArrayRef& array) { select_arrays({array}, array); }

void Selection::select_arrays(std::vector<ArrayRef> arrays, const ArrayRef& current) {
  if (arrays.empty()) return;
  const bool is_among = std::ranges::find(arrays, current) != arrays.end();
  const ArrayRef chosen = is_among ? current : arrays.front();
  const bool is_other = chosen != array_, are_others = arrays != arrays_;
  array_ = chosen;
  arrays_ = std::move(arrays);
  if (is_other) emit arrayChanged();
  if (are_others) emit arraysChanged();
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
