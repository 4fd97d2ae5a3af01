#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QAbstractItemModelTester>
#include <QPushButton>
#include <QTableView>
#include <QTest>

#include "engine/base/units.h"
#include "engine/lint/what_next.h"
#include "gui/compare/compare_page.h"
#include "gui/compare/next_tab.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace what_next_test {

using namespace shardscope;

// The tab What next of the page Compare, with the real planner.
class WhatNextTest : public WindowCase {
  Q_OBJECT

  NextTab* tab() { return window_->findChild<NextTab*>(); }
  QTableView* table() { return window_->findChild<QTableView*>("next"); }
  QString cell(int row, int column) { return table()->model()->index(row, column).data().toString(); }
  void plan_all() {
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    button("nextStart")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!tab()->is_busy(), patience);
  }
  static QString text_of(const Notch& notch) {
    return QString::fromStdString(fmt::format("{}", fmt::join(notch.settings, " ")));
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(compiled_plans(), made::small_gpt(1, 2, 2), {1280, 800});
    QVERIFY(window_->show_page("compare"));
    window_->findChild<ComparePage*>()->setCurrentWidget(tab());
  }

  void cleanup() { close_window(); }

  void rows_are_what_the_command_line_says() {
    const QAbstractItemModelTester tester(table()->model());
    plan_all();
    const WhatNext next = what_next(*planner().plan());
    QVERIFY(next.notches.size() > 3);
    QCOMPARE(table()->model()->rowCount(), static_cast<int>(next.notches.size()));
    for (int row = 0; row < table()->model()->rowCount(); ++row) {
      const Notch& notch = next.notches[static_cast<size_t>(row)];
      QCOMPARE(cell(row, NextTab::setting_column), text_of(notch));
      QCOMPARE(cell(row, NextTab::time_column), QString::fromStdString(seconds_text(notch.after.seconds)));
      QCOMPARE(cell(row, NextTab::memory_column), QString::fromStdString(bytes_text(double(notch.after.bytes))));
    }
  }

  // However the table is sorted.
  void every_change_is_taken_as_one_undoable_edit_and_takes_what_it_says() {
    plan_all();
    table()->sortByColumn(NextTab::memory_column, Qt::AscendingOrder);
    const RunConfig before = document().config();
    for (int row = 0; row < table()->model()->rowCount(); ++row) {
      const QString time = cell(row, NextTab::time_column), memory = cell(row, NextTab::memory_column);
      table()->selectRow(row);
      QVERIFY(button("nextTake")->isEnabled());
      button("nextTake")->click();
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      const Plan& plan = *planner().plan();
      QCOMPARE(QString::fromStdString(seconds_text(plan.totals.seconds_per_step)), time);
      QCOMPARE(QString::fromStdString(bytes_text(double(plan.totals.device_bytes))), memory);
      QVERIFY(!table()->isEnabled() && !button("nextTake")->isEnabled());
      QCOMPARE(document().undo_stack().index(), 1);
      document().undo_stack().undo();
      QVERIFY(document().config() == before);
      QVERIFY(table()->isEnabled());
    }
  }

  // Its changes are of what was planned then.
  void a_table_of_another_strategy_cannot_be_taken_while_the_next_one_is_planned() {
    plan_all();
    table()->selectRow(0);
    RunConfig changed = document().config();
    changed.schedule.overlap = OverlapMode::off;
    document().edit(changed, "overlap");
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    button("nextStart")->click();
    QVERIFY(tab()->is_busy() && !table()->isEnabled() && !button("nextTake")->isEnabled());
    emit table()->activated(table()->currentIndex());
    QVERIFY(document().config() == changed);
    QTRY_VERIFY_WITH_TIMEOUT(!tab()->is_busy(), patience);
    QVERIFY(table()->isEnabled());
  }

  void planning_ends_on_request_and_another_file_clears_the_table() {
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    button("nextStart")->click();
    QVERIFY(tab()->is_busy());
    QCOMPARE(button("nextStart")->text(), QString("Cancel"));
    button("nextStart")->click();
    QVERIFY(!tab()->is_busy() && table()->isHidden());
    plan_all();
    QVERIFY(!table()->isHidden());
    document().reset(made::small_gpt(2, 2, 1), {});
    QVERIFY(table()->isHidden() && table()->model()->rowCount() == 0);
  }
};

REGISTER_WINDOW_TEST(WhatNextTest)

}  // namespace what_next_test

#include "what_next_test.moc"
