#include <QAbstractItemView>
#include <QTest>

#include "gui/window/page_list.h"
#include "gui/window/window.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"

namespace delivery_test {

using namespace shardscope;

// What pages show while the planner's signals reach one part of the window after the other.
class DeliveryTest : public WindowCase {
  Q_OBJECT

  // All that tables and lists say, and a picture: what Qt asks for when a layout is activated within a slot.
  void read_all() {
    for (QAbstractItemView* view : window_->findChildren<QAbstractItemView*>()) {
      if (!view->isVisible()) continue;
      read(*view->model(), {});
      view->doItemsLayout();
    }
    QVERIFY(!window_->grab().isNull());
    ++reads_;
  }

  static void read(const QAbstractItemModel& model, const QModelIndex& parent) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
      for (int column = 0; column < model.columnCount(parent); ++column)
        for (const int role : {Qt::DisplayRole, Qt::ToolTipRole, Qt::DecorationRole})
          model.data(model.index(row, column, parent), role);
      if (row < 20) read(model, model.index(row, 0, parent));
    }
  }

  int reads_ = 0;

 private slots:
  void initTestCase() { prepare(); }
  void init() { open_window(compiled_plans(), made::small_gpt(1, 1, 1), {1280, 800}); }
  void cleanup() { close_window(); }

  void a_page_can_be_painted_before_it_has_taken_the_plan_data() {
    QTest::addColumn<QString>("page");
    for (const PageKind& kind : page_kinds()) QTest::newRow(qPrintable(name_of(kind))) << name_of(kind).toLower();
  }

  void a_page_can_be_painted_before_it_has_taken_the_plan() {
    QFETCH(QString, page);
    QVERIFY(window_->show_page(page));
    reads_ = 0;
    connect(&planner(), &Planner::requested, this, &DeliveryTest::read_all);
    connect(&workspace().findings, &Findings::changed, this, &DeliveryTest::read_all);
    for (const RunConfig& config : {made::piped_gpt(4, 2, 1, 4), made::small_gpt(1, 2, 2), made::small_gpt(2, 1, 1),
                                    made::piped_gpt(2, 2, 2, 2)}) {
      document().reset(config, {});
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      document().edit(made::small_gpt(3, 2, 2, 2), "another plan");
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    }
    QVERIFY(reads_ >= 8);
  }
};

REGISTER_WINDOW_TEST(DeliveryTest)

}  // namespace delivery_test

#include "delivery_test.moc"
