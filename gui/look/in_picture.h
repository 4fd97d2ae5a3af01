#pragma once

#include <QWidget>

namespace shardscope {

// A page that is drawn for a file is marked so before it is shown. Views in it leave out what is for a person at a
// window (hints of the mouse and of keys), cut no text, and have as minimumSizeHint() what all of their content needs.
void mark_as_picture(QWidget& page);
bool is_in_picture(const QWidget& view);  // it, or what it is in, is marked

}  // namespace shardscope
