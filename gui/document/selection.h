#pragma once

#include <QObject>
#include <optional>

#include "gui/document/array_ref.h"
#include "gui/document/step_ref.h"

namespace shardscope {

// What the person looks at, shared by all views: an array, a device (a rank) and a step, each perhaps none. Hovering is
// a passing choice of a device.
class Selection : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  const ArrayRef& array() const { return array_; }
  std::optional<int> device() const { return device_; }
  std::optional<int> hovered_device() const { return hovered_device_; }
  std::optional<StepRef> step() const { return step_; }

  void select_array(const ArrayRef& array);
  void select_device(std::optional<int> device);
  void hover_device(std::optional<int> device);
  void select_step(std::optional<StepRef> step);

 signals:
  void arrayChanged();
  void deviceChanged();  // the selected one
  void hoverChanged();
  void stepChanged();

 private:
  ArrayRef array_;
  std::optional<int> device_, hovered_device_;
  std::optional<StepRef> step_;
};

}  // namespace shardscope
