#include "gui/look/empty_note.h"

namespace shardscope {

EmptyNote::EmptyNote(QWidget* parent) : QLabel(parent) {
  setAlignment(Qt::AlignCenter);
  setWordWrap(true);
  setProperty("muted", true);
}

}  // namespace shardscope
