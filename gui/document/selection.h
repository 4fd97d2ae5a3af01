#pragma once

#include <QObject>
#include <QString>

namespace shardscope {

// What the person looks at, shared by all views. An array is named by its key:
//   "params/Embed_0/embedding"               a parameter
//   "optimizer/mu/params/Embed_0/embedding"  its optimizer state
//   "in", "out"                              the model's inputs and output, as the run file constrains them
//   "value:NAME"                             a value of the forward pass
// A step is a position of the plan's main sequence, a device a rank; -1 is none. Hovering is a passing choice of a
// device.
class Selection : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  const QString& array() const { return array_; }
  int device() const { return device_; }
  int hovered_device() const { return hovered_device_; }
  int step() const { return step_; }

  void select_array(const QString& key);
  void select_device(int device);
  void hover_device(int device);
  void select_step(int step);

 signals:
  void arrayChanged();
  void deviceChanged();  // the selected or the hovered one
  void stepChanged();

 private:
  QString array_;
  int device_ = -1;
  int hovered_device_ = -1;
  int step_ = -1;
};

}  // namespace shardscope
