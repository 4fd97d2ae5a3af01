#include "gui/look/footer_note.h"

#include "gui/look/appearance.h"

namespace shardscope {

FooterNote::FooterNote(QWidget* parent) : QLabel(parent) {
  setProperty("footer", true);
  setContentsMargins(10, 6, 10, 6);
  setWordWrap(true);
}

void FooterNote::set_out_of_date(bool is_old) {
  const QString style = is_old ? QString("color: %1").arg(theme().warning.name()) : QString();
  if (styleSheet() != style) setStyleSheet(style);
}

}  // namespace shardscope
