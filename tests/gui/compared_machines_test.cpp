#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QPushButton>
#include <QTableView>
#include <QTest>
#include <map>
#include <set>

#include "engine/base/units.h"
#include "engine/compile/file_paths.h"
#include "gui/compare/compare_page.h"
#include "gui/compare/machines_tab.h"
#include "gui/look/footer_note.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace compared_machines_test {

using namespace shardscope;

// The tab Machines of the page Compare, with the real planner.
class ComparedMachinesTest : public WindowCase {
  Q_OBJECT

  MachinesTab* tab() { return window_->findChild<MachinesTab*>(); }
  QTableView* table() { return window_->findChild<QTableView*>("comparedMachines"); }
  QString cell(int row, int column) { return table()->model()->index(row, column).data().toString(); }
  QString machine(int column) { return table()->model()->headerData(column, Qt::Horizontal).toString(); }
  void plan_all() {
    button("machinesStart")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!tab()->is_busy(), patience);
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    QSettings().remove("compare/machines");
    QSettings().remove("compare/prices");
    open_window(compiled_plans(), made::small_gpt(1, 2, 2), {1280, 800});
    QVERIFY(window_->show_page("compare"));
    window_->findChild<ComparePage*>()->setCurrentWidget(tab());
  }

  void cleanup() { close_window(); }

  void a_column_is_the_plan_for_that_machine() {
    const QAbstractItemModelTester tester(table()->model());
    plan_all();
    QCOMPARE(table()->model()->columnCount(), 4);
    for (int column = 0; column < 4; ++column) {
      const RunConfig config =
          column == 0 ? document().config() : with_machine(document().config(), machine(column).toStdString());
      const Plan plan = planner().source().plan(config, {});
      QCOMPARE(machine(column), QString::fromStdString(plan.machine.name));
      QCOMPARE(cell(MachinesModel::time_row, column),
               QString::fromStdString(seconds_text(plan.totals.seconds_per_step)));
      QCOMPARE(cell(MachinesModel::memory_row, column),
               QString::fromStdString(bytes_text(double(plan.totals.device_bytes))));
      QCOMPARE(cell(MachinesModel::state_row, column), QString("fits"));
    }
  }

  void a_machine_of_the_table_is_taken_as_one_undoable_edit() {
    plan_all();
    const RunConfig before = document().config();
    const QString taken = machine(2);
    table()->selectColumn(2);
    button("machinesTake")->click();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(planner().plan()->machine.name, taken.toStdString());
    QVERIFY(!button("removeMachine")->isEnabled() && !button("machinesTake")->isEnabled());
    QCOMPARE(document().undo_stack().count(), 1);
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
  }

  QStringList all_cells() {
    QStringList cells;
    for (int column = 0; column < table()->model()->columnCount(); ++column) {
      cells << machine(column);
      for (int row = 0; row < table()->model()->rowCount(); ++row) cells << cell(row, column);
    }
    return cells;
  }

  void a_machine_that_is_taken_leaves_the_table_as_it_was_and_the_former_one_can_be_taken_back() {
    const QAbstractItemModelTester tester(table()->model());
    document().edit(with_machine(document().config(), "dgx_h100"), "a machine");
    RunConfig changed = document().config();
    changed.machine = R"({"name": "dgx_h100", "device": {"memory_bytes": 90000000000}})";
    document().edit(changed, "with another memory");
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    plan_all();
    const QStringList planned = all_cells();
    const RunConfig before = document().config();
    int own = 0;
    while (machine(own) != "dgx_h100") ++own;
    for (int column = 0; column < table()->model()->columnCount(); ++column) {
      if (column == own) continue;
      table()->selectColumn(column);
      button("machinesTake")->click();
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      QCOMPARE(all_cells(), planned);
      QVERIFY(table()->isEnabled());
      table()->selectColumn(own);
      button("machinesTake")->click();
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      QCOMPARE(all_cells(), planned);
      QVERIFY(document().config() == before);
    }
    plan_all();
    QCOMPARE(all_cells(), planned);
  }

  void a_price_that_is_set_is_kept_and_gives_the_cost() {
    plan_all();
    const auto price = table()->model()->index(MachinesModel::price_row, 1);
    const auto cost = table()->model()->index(MachinesModel::cost_row, 1);
    QCOMPARE(cost.data().toString(), QString(QChar(0x2013)));
    QCOMPARE(price.data().toString(), QString::fromUtf8("set\u2026"));
    const RunConfig before = document().config();
    QTest::mouseClick(table()->viewport(), Qt::LeftButton, {}, table()->visualRect(cost).center());
    auto* editor = table()->findChild<QDoubleSpinBox*>();
    QVERIFY(editor);
    QTest::keyClicks(editor, "2.5");
    QTest::keyClick(editor, Qt::Key_Return);
    QVERIFY2(document().config() == before, "a click on a price takes no machine");
    QTRY_COMPARE_WITH_TIMEOUT(price.data().toString(), QString("2.5"), patience);
    const double hours = cell(MachinesModel::hours_row, 1).toDouble();
    QVERIFY(std::abs(cost.data().toString().toDouble() - 2.5 * hours) < 0.01 * hours);
    QVERIFY(QSettings().value("compare/prices").toMap().value(machine(1)) == 2.5);
    table()->model()->setData(price, 0.0);
    QCOMPARE(cost.data().toString(), QString(QChar(0x2013)));
  }

  void a_prediction_that_no_measurements_back_is_the_best_of_none_and_says_so() {
    RunConfig config = document().config();
    config.stack = R"("megatron")";
    document().edit(config, "software");
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    plan_all();
    int verified = 0, unverified = 0;
    for (int column = 0; column < table()->model()->columnCount(); ++column) {
      const bool is_verified = cell(MachinesModel::range_row, column) != "unverified";
      ++(is_verified ? verified : unverified);
      QVERIFY(!cell(MachinesModel::software_row, column).isEmpty());
      for (int row = MachinesModel::time_row; row < MachinesModel::price_row; ++row) {
        const QModelIndex index = table()->model()->index(row, column);
        if (!is_verified) QVERIFY(index.data(Qt::ForegroundRole) != QVariant(theme().good));
        QCOMPARE(index.data(Qt::ToolTipRole).toString().startsWith("Unverified"), !is_verified);
      }
    }
    QVERIFY(verified > 1 && unverified > 0);
  }

  void what_looks_equal_everywhere_is_best_nowhere() {
    plan_all();
    int different = 0;
    for (int row = MachinesModel::time_row; row < MachinesModel::rows; ++row) {
      std::set<QString> texts;
      int best = 0;
      for (int column = 0; column < table()->model()->columnCount(); ++column) {
        texts.insert(cell(row, column));
        best += table()->model()->index(row, column).data(Qt::ForegroundRole) == QVariant(theme().good);
      }
      QVERIFY2(texts.size() > 1 || best == 0, qPrintable(*texts.begin()));
      different += best > 0;
    }
    QVERIFY(different > 0);
  }

  void another_strategy_makes_the_table_out_of_date() {
    plan_all();
    set_microbatches(document(), 2);
    QVERIFY(!table()->isEnabled());
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    plan_all();
    QVERIFY(table()->isEnabled());
  }

  void machines_are_added_and_removed_and_kept_for_the_next_start() {
    auto* names = window_->findChild<QComboBox*>("machineToAdd");
    const auto add = [&](const QString& name) {
      names->setEditText(name);
      button("addMachine")->click();
    };
    add("tpu_v4");
    add("tpu_v4");
    add("");
    QCOMPARE(table()->model()->columnCount(), 5);
    table()->selectColumn(1);
    button("removeMachine")->click();
    table()->selectColumn(0);
    QVERIFY(!button("removeMachine")->isEnabled() && !button("machinesTake")->isEnabled());
    close_window();
    open_window(compiled_plans(), made::small_gpt(1, 2, 2));
    QStringList kept;
    for (int column = 1; column < table()->model()->columnCount(); ++column) kept << machine(column);
    QCOMPARE(kept, (QStringList{"dgx_h100", "tpu_v5p", "tpu_v4"}));
  }

  void a_machine_that_there_is_not_is_refused_at_the_field_with_what_is_near() {
    auto* names = window_->findChild<QComboBox*>("machineToAdd");
    const auto* note = tab()->findChild<FooterNote*>();
    const QString before = note->text();
    for (const char* wrong : {"foo", "dgx_h101", "/nowhere/machine.json", "dgx_h100"}) {
      names->setEditText(wrong);
      button("addMachine")->click();
      QCOMPARE(table()->model()->columnCount(), 4);
      QVERIFY2(names->property("invalid").toBool(), wrong);
      QVERIFY2(note->text().contains(wrong), qPrintable(note->text()));
      if (QString(wrong) == "dgx_h101") QVERIFY2(note->text().contains("dgx_h100"), qPrintable(note->text()));
    }
    names->setEditText("tpu");
    QVERIFY(!names->property("invalid").toBool());
    QCOMPARE(note->text(), before);
  }

  void what_is_planned_stays_where_machines_come_and_go() {
    plan_all();
    auto* names = window_->findChild<QComboBox*>("machineToAdd");
    const auto cells_of = [&](const QString& of) {
      QStringList cells;
      for (int column = 0; column < table()->model()->columnCount(); ++column)
        for (int row = 0; row < table()->model()->rowCount() && machine(column) == of; ++row)
          cells << cell(row, column);
      return cells;
    };
    std::map<QString, QStringList> before;
    for (int column = 0; column < table()->model()->columnCount(); ++column)
      before[machine(column)] = cells_of(machine(column));
    const auto has_kept = [&] {
      return std::ranges::all_of(before, [&](const auto& of) {
        return of.second == cells_of(of.first) && of.second[MachinesModel::state_row] == "fits";
      });
    };
    names->setEditText("tpu_v4");
    button("addMachine")->click();
    QVERIFY(has_kept());
    QTRY_VERIFY_WITH_TIMEOUT(!tab()->is_busy(), patience);
    QCOMPARE(cells_of("tpu_v4").value(MachinesModel::state_row), QString("fits"));
    const QString removed = machine(1);
    table()->selectColumn(1);
    button("removeMachine")->click();
    before.erase(removed);
    QVERIFY(cells_of(removed).isEmpty() && has_kept());
  }

  void titles_and_tips_say_what_the_numbers_are() {
    QCOMPARE(quantities::hours.title(), QString::fromUtf8("Device hours for 10\u2079 tokens"));
    QVERIFY(quantities::hfu.tip().contains("MFU"));
  }

  void a_machine_that_is_gone_says_so_in_its_column() {
    close_window();
    QSettings().setValue("compare/machines", QStringList{"dgx_h100", "dgx_h101"});
    open_window(compiled_plans(), made::small_gpt(1, 2, 2), {1280, 800});
    plan_all();
    const int last = table()->model()->columnCount() - 1;
    QVERIFY2(cell(MachinesModel::state_row, last).startsWith("cannot be"),
             qPrintable(cell(MachinesModel::state_row, last)));
    QCOMPARE(cell(MachinesModel::state_row, 1), QString("fits"));
  }
};

REGISTER_WINDOW_TEST(ComparedMachinesTest)

}  // namespace compared_machines_test

#include "compared_machines_test.moc"
