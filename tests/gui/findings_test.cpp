#include "gui/workspace/findings.h"

#include <QDockWidget>
#include <QHeaderView>
#include <QInputDialog>
#include <QPushButton>
#include <QSet>
#include <QTest>
#include <QTimer>
#include <QTreeView>
#include <QTreeWidget>
#include <algorithm>
#include <numeric>
#include <random>

#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "gui/document/text.h"
#include "gui/look/shared_columns.h"
#include "gui/panels/parameter_model.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace findings_test {

using namespace shardscope;

namespace {

QModelIndex find_row(const QAbstractItemModel& model, const ParameterRef& parameter, const QModelIndex& below = {}) {
  for (int row = 0; row < model.rowCount(below); ++row) {
    const QModelIndex index = model.index(row, 0, below);
    if (index.data(ParameterModel::array_role).value<ArrayRef>() == ArrayRef(parameter)) return index;
    if (const QModelIndex found = find_row(model, parameter, index); found.isValid()) return found;
  }
  return {};
}

}  // namespace

class FindingsTest : public QObject {
  Q_OBJECT

 private slots:
  void columns_share_a_room_and_none_is_cut_for_one_that_has_more() {
    std::mt19937 random(3);
    for (int i = 0; i < 1000; ++i) {
      std::vector<int> wanted(1 + random() % 6);
      for (int& width : wanted) width = static_cast<int>(random() % 300);
      const int room = static_cast<int>(random() % 1000);
      const std::vector<int> widths = shared_widths(wanted, room);
      QCOMPARE(std::accumulate(widths.begin(), widths.end(), 0), room);
      const bool all_fit = std::accumulate(wanted.begin(), wanted.end(), 0) <= room;
      const int widest = *std::ranges::max_element(widths);
      for (size_t column = 0; column < wanted.size(); ++column) {
        if (all_fit) QVERIFY(widths[column] >= wanted[column]);
        else QVERIFY(widths[column] == wanted[column] || widths[column] >= widest - static_cast<int>(wanted.size()));
      }
    }
  }

  void problems_are_priced_in_the_background_and_fixed_by_one_undoable_edit() {
    MainWindow window(compiled_plans(), "/nowhere/shardrun");
    Workspace& workspace = window.workspace();
    const RunConfig before =
        with_settings(load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/tiny_lm_dp.json"),
                      {"sharding.mode=as_written", "schedule.rematerialise=full",
                       R"(mesh.axes=[{"name":"data","size":4},{"name":"spare","size":2}])"});
    workspace.document.reset(before, {});
    window.resize(1280, 800);
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    QVERIFY(workspace.findings.fixable() > 0);
    QVERIFY2(window.verdict()->text().contains("finding"), qPrintable(window.verdict()->text()));
    auto* list = window.findChild<QTreeWidget*>("problems");
    QVERIFY(list->topLevelItemCount() >= static_cast<int>(workspace.findings.list().size()));
    QVERIFY(list->topLevelItem(0)->text(3).contains("ms a step"));

    const auto is_whole = [&](const QTreeWidgetItem* item, int column) {
      return list->fontMetrics().horizontalAdvance(item->text(column)) < list->columnWidth(column);
    };
    window.findChild<QDockWidget*>("problems")->raise();
    QTRY_VERIFY_WITH_TIMEOUT(list->viewport()->width() > 1200, patience);
    QTRY_VERIFY_WITH_TIMEOUT(list->header()->length() == list->viewport()->width(), patience);
    for (int row = 0; row < list->topLevelItemCount(); ++row) {
      const QTreeWidgetItem* item = list->topLevelItem(row);
      for (const int column : {1, 3})
        QVERIFY2(is_whole(item, column),
                 qPrintable(QString("%1 in %2").arg(item->text(column)).arg(list->columnWidth(column))));
      for (int column = 0; column < list->columnCount(); ++column)
        QVERIFY(is_whole(item, column) || item->toolTip(column).contains(item->text(column)));
    }

    list->setCurrentItem(list->topLevelItem(0));
    auto* fix = window.findChild<QPushButton*>("fixFinding");
    QVERIFY(fix->isEnabled());
    fix->click();
    QCOMPARE(workspace.document.undo_stack().count(), 1);
    QVERIFY(!(workspace.document.config() == before));
    workspace.document.undo_stack().undo();
    QVERIFY(workspace.document.config() == before);

    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    window.findChild<QPushButton*>("fixAllFindings")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!(workspace.document.config() == before), patience);
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    QCOMPARE(workspace.findings.fixable(), 0);
    QCOMPARE(workspace.document.undo_stack().index(), 1);
    workspace.document.undo_stack().undo();
    QVERIFY(workspace.document.config() == before);
  }

  void what_is_still_planned_or_checked_is_nowhere_called_free_of_problems() {
    MainWindow window(compiled_plans(), "/nowhere/shardrun");
    Workspace& workspace = window.workspace();
    int checked = 0;
    const auto judge = [&] {
      const bool is_known = workspace.planner.is_current() && !workspace.findings.is_pricing();
      const QString empty = window.findChild<QLabel*>("noProblems")->text();
      if (!is_known) QVERIFY2(!empty.startsWith("No problems"), qPrintable(empty));
      QVERIFY2(empty.startsWith("Checking") == window.verdict()->text().contains("checking") || !is_known,
               qPrintable(empty + " / " + window.verdict()->text()));
      ++checked;
    };
    connect(&workspace.planner, &Planner::requested, &window, judge);
    connect(&workspace.planner, &Planner::delivered, &window, judge);
    connect(&workspace.findings, &Findings::changed, &window, judge);
    RunConfig config = load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/tiny_text.json");
    for (const int64_t steps : {7, 8}) {
      config.steps = steps;
      workspace.document.reset(config, {});
      QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
      judge();
    }
    QVERIFY(checked >= 6);
    const auto* state = window.findChild<QWidget*>("findingsState");
    QVERIFY(!state->isVisibleTo(&window) || !window.findChild<QLabel*>("noProblems")->isVisibleTo(&window));
  }

  void a_finding_is_marked_where_its_place_is_and_the_keyboard_goes_there() {
    MainWindow window(compiled_plans(), "/nowhere/shardrun");
    Workspace& workspace = window.workspace();
    const RunConfig before =
        with_settings(load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/tiny_text.json"),
                      {"sharding.mode=as_written", "schedule.rematerialise=full",
                       R"(mesh.axes=[{"name":"data","size":2},{"name":"model","size":2},{"name":"spare","size":2}])",
                       R"(sharding.parameters.params.blocks.0.mha.query.kernel=["data",null,null])"});
    workspace.document.reset(before, {});
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    connect(&workspace.findings, &Findings::changed, &window, [&] {
      if (workspace.findings.is_pricing()) QVERIFY(!window.verdict()->text().contains("plan ok"));
    });
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    auto* tree = window.findChild<QTreeView*>("parameterTree");
    size_t in_tree = 0, at_fields = 0;
    for (const Finding& finding : workspace.findings.list()) {
      const QString place = qt(finding.place.path), text = Findings::text_of(finding);
      for (const ParameterRef& parameter : parameters_at(workspace.planner, place)) {
        ++in_tree;
        for (QModelIndex row = find_row(*tree->model(), parameter); row.isValid(); row = row.parent()) {
          const bool is_array = shardscope::is_array(row.data(ParameterModel::array_role).value<ArrayRef>());
          const QModelIndex marked = row.siblingAtColumn(is_array ? ParameterModel::spec_column : 0);
          QVERIFY2(!marked.data(Qt::DecorationRole).isNull(), qPrintable(place));
          QVERIFY(row.data(Qt::ToolTipRole).toString().contains(text));
        }
      }
      for (QWidget* field : window.findChildren<QWidget*>())
        if (field->property("noted").toBool() && field->toolTip().contains(text)) ++at_fields;
    }
    QVERIFY(in_tree >= 1);
    QVERIFY(at_fields >= 2);  // the idle axis, and rematerialisation
    const QModelIndex other = find_row(*tree->model(), ParameterRef{{"params", "token_emb", "embedding"}});
    QVERIFY(other.siblingAtColumn(ParameterModel::spec_column).data(Qt::DecorationRole).isNull());

    auto* list = window.findChild<QTreeWidget*>("problems");
    QSet<QString> seen;
    for (int i = 0; i < list->topLevelItemCount(); ++i) {
      QTest::keyClick(&window, Qt::Key_F8);
      QVERIFY(list->currentItem());
      seen << list->currentItem()->text(0) + list->currentItem()->text(1);
      if (!list->currentItem()->text(1).startsWith("sharding.parameters")) continue;
      QCOMPARE(name_of(workspace.selection.array()), QString("params/blocks/0/mha/query/kernel"));
      QVERIFY(tree->isAncestorOf(window.focusWidget()) || tree == window.focusWidget());
    }
    QCOMPARE(seen.size(), list->topLevelItemCount());
    workspace.document.reset(before, {});
  }

  void a_rule_is_turned_off_with_a_reason_that_is_shown() {
    MainWindow window(compiled_plans(), "/nowhere/shardrun");
    Workspace& workspace = window.workspace();
    const RunConfig before = with_settings(
        load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/tiny_lm_dp.json"),
        {"sharding.mode=as_written", R"(mesh.axes=[{"name":"data","size":4},{"name":"spare","size":2}])"});
    workspace.document.reset(before, {});
    window.show();
    const auto finds = [&] { return std::ranges::count(workspace.findings.list(), "idle_axis", &Finding::rule) > 0; };
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    QVERIFY(finds());
    auto* list = window.findChild<QTreeWidget*>("problems");
    for (int row = 0; row < list->topLevelItemCount(); ++row)
      if (list->topLevelItem(row)->text(0).contains("spare")) list->setCurrentItem(list->topLevelItem(row));
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      timer.stop();
      dialog->setTextValue("kept for later");
      dialog->accept();
    });
    timer.start(5);
    window.findChild<QPushButton*>("turnRuleOff")->click();
    QCOMPARE(workspace.document.config().lint.off.size(), size_t{1});
    const std::string rule = workspace.document.config().lint.off.front().first;
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    QCOMPARE(std::ranges::count(workspace.findings.list(), rule, &Finding::rule), std::ptrdiff_t{0});
    QVERIFY(window.findChild<QLabel*>("findingsState")->text().contains("kept for later"));
    workspace.document.undo_stack().undo();
    QVERIFY(workspace.document.config() == before);
    workspace.document.reset(before, {});
  }

  void an_edit_gives_up_what_is_being_priced() {
    MainWindow window(compiled_plans(), "/nowhere/shardrun");
    Workspace& workspace = window.workspace();
    RunConfig config = load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/tiny_lm_dp.json");
    workspace.document.reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    config.schedule.microbatches = 2;
    workspace.document.edit(config, "two microbatches");
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && !workspace.findings.is_priced(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    for (const Finding& finding : workspace.findings.list())
      if (finding.fix && finding.rule != "communication") QVERIFY(!(finding.fix->config == config));
  }
};

REGISTER_WINDOW_TEST(FindingsTest)

}  // namespace findings_test

#include "findings_test.moc"
