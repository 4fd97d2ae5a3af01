#include "gui/pages/trace_box.h"

namespace shardscope {

TraceBox::TraceBox(QWidget* parent) : QComboBox(parent) {
  addItem(tr("median step"), int(TraceChoice::median));
  addItem(tr("slowest step"), int(TraceChoice::slowest));
  addItem(tr("latest step"), int(TraceChoice::latest));
  hide();
}

}  // namespace shardscope
