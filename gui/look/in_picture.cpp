#include "gui/look/in_picture.h"

#include <QVariant>

namespace shardscope {

void mark_as_picture(QWidget& page) { page.setProperty("picture", true); }

bool is_in_picture(const QWidget& view) {
  const QWidget* parent = view.parentWidget();
  return view.property("picture").toBool() || (parent && is_in_picture(*parent));
}

}  // namespace shardscope
