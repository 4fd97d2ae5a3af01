#pragma once

#include <QWidget>

namespace shardscope {

// What the keyboard is for in a page: the first of what is seen in it that has keys of its own (set_key_help()), else
// the first list or table, else the first field. Null where there is none.
QWidget* main_widget(const QWidget& page);

void give_keyboard(const QWidget& page);  // to that

}  // namespace shardscope
