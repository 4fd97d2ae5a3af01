#pragma once

#include "gui/look/cell_delegate.h"

namespace shardscope {

// Shows names of scopes so that they stay different in a narrow column (see fitted_name.h).
class NameDelegate : public CellDelegate {
 public:
  using CellDelegate::CellDelegate;

 protected:
  QString fitted(const QString& text, const QFontMetricsF& metrics, double room) const override;
};

}  // namespace shardscope
