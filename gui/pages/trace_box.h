#pragma once

#include <QComboBox>

#include "engine/session/telemetry.h"

namespace shardscope {

// Which recorded training step of a run a page shows. Hidden until the page has one.
class TraceBox : public QComboBox {
  Q_OBJECT
 public:
  explicit TraceBox(QWidget* parent = nullptr);
  TraceChoice choice() const { return static_cast<TraceChoice>(currentData().toInt()); }
};

}  // namespace shardscope
