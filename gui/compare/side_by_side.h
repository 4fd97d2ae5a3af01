#pragma once

#include <QTableView>

namespace shardscope {

inline constexpr int side_by_side_row_height = 24;

// A table of quantities, one a row with its title before it, and what is compared in columns of equal width.
void set_side_by_side(QTableView* table);

}  // namespace shardscope
