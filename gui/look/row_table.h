#pragma once

#include <QTableView>
#include <initializer_list>

namespace shardscope {

// How a table looks whose rows are chosen as a whole: without frame, grid, numbers of rows and highlighted titles, with
// rows of this height. `widths` are those of the columns, of the first ones at least.
void set_row_table(QTableView& table, int row_height, std::initializer_list<int> widths = {});

}  // namespace shardscope
