#include "gui/look/row_table.h"

#include <QHeaderView>

namespace shardscope {

void set_row_table(QTableView& table, int row_height, std::initializer_list<int> widths) {
  table.setSelectionBehavior(QAbstractItemView::SelectRows);
  table.setFrameShape(QFrame::NoFrame);
  table.setShowGrid(false);
  table.verticalHeader()->hide();
  table.verticalHeader()->setDefaultSectionSize(row_height);
  table.horizontalHeader()->setHighlightSections(false);
  int column = 0;
  for (const int width : widths) table.setColumnWidth(column++, width);
}

}  // namespace shardscope
