#pragma once

#include <QComboBox>

namespace shardscope {

// A field for a machine: the names of the library to choose from, of which a part finds one, or any text, such as the
// path of a machine's file.
QComboBox* make_machine_box(QWidget* parent);

}  // namespace shardscope
