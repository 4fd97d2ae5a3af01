#pragma once

#include <QObject>
#include <optional>
#include <vector>

#include "gui/document/array_ref.h"
#include "gui/document/step_ref.h"

namespace shardscope {

// What the person looks at, shared by all views: arrays, a device (a rank) and a step, each perhaps none. Of several
// arrays, which are edited together, one is current: that which views of a single array show. Hovering is a passing
// choice of a device.
class Selection : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  const ArrayRef& array() const { return array_; }                 // the current one
  const std::vector<ArrayRef>& arrays() const { return arrays_; }  // all that are selected, the current one among them
  std::optional<int> device() const { return device_; }
  std::optional<int> hovered_device() const { return hovered_device_; }
  std::optional<StepRef> step() const { return step_; }

  void select_array(const ArrayRef& array);  // and no other
  // None of them changes nothing. The first is current where `current` is not among them.
  void select_arrays(std::vector<ArrayRef> arrays, const ArrayRef& current);
  void select_device(std::optional<int> device);
  void hover_device(std::optional<int> device);
  void select_step(std::optional<StepRef> step);

 signals:
  void arrayChanged();   // the current one
  void arraysChanged();  // any of them
  void deviceChanged();  // the selected one
  void hoverChanged();
  void stepChanged();

 private:
  ArrayRef array_;
  std::vector<ArrayRef> arrays_;
  std::optional<int> device_, hovered_device_;
  std::optional<StepRef> step_;
};

}  // namespace shardscope
