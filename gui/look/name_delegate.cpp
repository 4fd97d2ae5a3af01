#include "gui/look/name_delegate.h"

#include "gui/look/fitted_name.h"

namespace shardscope {

QString NameDelegate::fitted(const QString& text, const QFontMetricsF& metrics, double room) const {
  return fitted_name(text, metrics, room);
}

}  // namespace shardscope
