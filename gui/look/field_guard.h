#pragma once

#include <QWidget>

namespace shardscope {

// Lets a spin box, drop-down, check box or line of text behave as a field of the document: the wheel changes it only
// while it has the keyboard, and scrolls what is under it otherwise; undo and redo are the document's, not those of its
// text.
void guard_field(QWidget* field);

}  // namespace shardscope
