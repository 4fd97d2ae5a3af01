#include "gui/compare/side_by_side.h"

#include <QHeaderView>
#include <QPainter>

#include "gui/look/appearance.h"

namespace shardscope {
namespace {

// Titles on the line of their values: a style sheet sets those of a vertical header some pixels higher.
class RowTitles : public QHeaderView {
 public:
  explicit RowTitles(QWidget* parent) : QHeaderView(Qt::Vertical, parent) {}

 protected:
  void paintSection(QPainter* painter, const QRect& place, int row) const override {
    painter->fillRect(place, theme().base);
    painter->setPen(theme().muted);
    painter->drawText(place.adjusted(6, 0, -6, 0), Qt::AlignLeft | Qt::AlignVCenter,
                      model()->headerData(row, Qt::Vertical).toString());
  }
};

}  // namespace

void set_side_by_side(QTableView* table) {
  table->setFrameShape(QFrame::NoFrame);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setAlternatingRowColors(true);
  table->setVerticalHeader(new RowTitles(table));
  table->verticalHeader()->setDefaultSectionSize(side_by_side_row_height);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  table->horizontalHeader()->setMinimumSectionSize(60);
}

}  // namespace shardscope
