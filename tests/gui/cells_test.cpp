#include <QHeaderView>
#include <QPainter>
#include <QStandardItemModel>
#include <QTest>
#include <QTreeView>

#include "gui/look/appearance.h"
#include "gui/look/cell_delegate.h"
#include "gui/look/name_delegate.h"
#include "tests/test_program.h"

namespace cells_test {

using namespace shardscope;

// A cell that is painted the short way looks as the style paints it.
class CellsTest : public QObject {
  Q_OBJECT

  QStandardItemModel model_{1, 1};
  QTreeView view_;

  // A cell on the ground of its row.
  QImage painted(const QStyledItemDelegate& delegate, QStyle::State state, int width, bool is_row) const {
    QImage image(width, 24, QImage::Format_RGB32);
    image.fill(theme().base);
    QStyleOptionViewItem option;
    option.initFrom(&view_);
    option.widget = &view_;
    option.rect = image.rect();
    option.state = QStyle::State_Active | state;
    option.font = view_.font();
    option.fontMetrics = view_.fontMetrics();
    option.displayAlignment = Qt::AlignLeft | Qt::AlignVCenter;
    option.decorationSize = {16, 16};
    option.decorationAlignment = Qt::AlignCenter;
    option.showDecorationSelected = is_row;
    option.textElideMode = Qt::ElideRight;
    QPainter painter(&image);
    delegate.paint(&painter, option, model_.index(0, 0));
    return image;
  }

 private slots:
  void initTestCase() {
    apply_theme(*qApp, ThemeChoice::light);
    view_.setFont(qApp->font());
  }

  void a_cell_looks_as_the_style_paints_it_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QVariant>("alignment");
    QTest::addColumn<QVariant>("color");
    QTest::addColumn<QVariant>("mark");
    QTest::addColumn<bool>("bold");
    const QVariant none;
    QTest::newRow("name") << "all-gather" << none << none << none << false;
    QTest::newRow("number") << "4.00 MiB" << QVariant(Qt::AlignRight | Qt::AlignVCenter) << none << none << false;
    QTest::newRow("centred") << "4.00 MiB" << QVariant(Qt::AlignCenter) << none << none << false;
    QTest::newRow("muted") << "forward" << none << QVariant(QColor(Qt::gray)) << none << false;
    QTest::newRow("bold") << "all-reduce (5)" << none << none << none << true;
    QTest::newRow("marked") << "all-to-all" << none << none << QVariant(color_mark(Qt::red)) << false;
    QTest::newRow("markup") << "<b>&amp;" << none << none << none << false;
    QTest::newRow("long") << "SelfAttentionBlock_0/SelfAttention_0/query/kernel" << none << none << none << false;
    QTest::newRow("nothing") << "" << none << none << none << false;
  }
  void a_cell_looks_as_the_style_paints_it() {
    QFETCH(QString, text);
    QFETCH(QVariant, alignment);
    QFETCH(QVariant, color);
    QFETCH(QVariant, mark);
    QFETCH(bool, bold);
    const QModelIndex cell = model_.index(0, 0);
    model_.setData(cell, text, Qt::DisplayRole);
    model_.setData(cell, alignment, Qt::TextAlignmentRole);
    model_.setData(cell, color, Qt::ForegroundRole);
    model_.setData(cell, mark, Qt::DecorationRole);
    QFont font = view_.font();
    font.setBold(bold);
    model_.setData(cell, bold ? QVariant(font) : QVariant(), Qt::FontRole);
    const QStyledItemDelegate by_style;
    const CellDelegate by_hand(nullptr);
    for (const QStyle::State state :
         {QStyle::State(QStyle::State_Enabled), QStyle::State(QStyle::State_None),
          QStyle::State_Enabled | QStyle::State_Selected, QStyle::State_Enabled | QStyle::State_MouseOver})
      for (const int width : {90, 200, 90, 3})
        for (const bool is_row : {true, false})
          QCOMPARE(painted(by_hand, state, width, is_row), painted(by_style, state, width, is_row));
  }

  void a_name_takes_the_width_of_the_empty_cells_behind_it() {
    constexpr int narrow = 80, wide = 200;
    QStandardItemModel model;
    model.appendRow({new QStandardItem("SelfAttentionBlock_0_layer"), new QStandardItem, new QStandardItem("12 MiB")});
    model.appendRow({new QStandardItem("Dense_0"), new QStandardItem("P('data')"), new QStandardItem("1 MiB")});
    QTreeView tree;
    tree.setModel(&model);
    tree.setItemDelegate(new CellDelegate(&tree));
    tree.setItemDelegateForColumn(0, new NameDelegate(&tree));
    tree.resize(400, 100);
    tree.header()->setStretchLastSection(false);
    const auto row_image = [&](int first, int second, bool selected) {
      tree.setColumnWidth(0, first);
      tree.setColumnWidth(1, second);
      tree.setCurrentIndex(model.index(selected ? 0 : 1, 0));
      QImage seen = tree.viewport()->grab().toImage();
      return seen.copy(0, 0, wide, tree.visualRect(model.index(0, 0)).height());
    };
    tree.header()->setMinimumSectionSize(0);
    for (const bool selected : {false, true})
      QCOMPARE(row_image(narrow, wide - narrow, selected), row_image(wide, 0, selected));
    QVERIFY(row_image(narrow, wide - narrow, false) != row_image(narrow, wide - narrow, true));
  }
};

REGISTER_WINDOW_TEST(CellsTest)

}  // namespace cells_test

#include "cells_test.moc"
