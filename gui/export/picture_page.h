#pragma once

#include <QWidget>

namespace shardscope {

// What a person works a page with, and what a picture has none of: buttons, fields, sliders, scroll bars, tabs.
bool is_control(const QWidget& widget);

// Brings a page that is marked as a picture (gui/look/in_picture.h) to what the picture shows. Controls go; what they
// chose stays as a text, unless their property "silent" says that the picture tells it anyway. Tables and what scrolls
// get room for all rows and columns, labels for their text, and the page grows as all of that needs. What this
// changes is laid out with the next event-loop iterations: call it until it returns false some times.
bool fit_picture(QWidget& page);

}  // namespace shardscope
