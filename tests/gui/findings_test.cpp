#include "gui/workspace/findings.h"

#include <QInputDialog>
#include <QPushButton>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>

#include "engine/compile/file_paths.h"
#include "engine/compile/settings.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace findings_test {

using namespace shardscope;

namespace {

constexpr int patience = 60000;

}  // namespace

class FindingsTest : public QObject {
  Q_OBJECT

 private slots:
  void problems_are_priced_in_the_background_and_fixed_by_one_undoable_edit() {
    MainWindow window(compiled_plans(), "/nowhere/shardrun");
    Workspace& workspace = window.workspace();
    const RunConfig before =
        with_settings(load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/tiny_lm_dp.json"),
                      {"sharding.mode=as_written", "schedule.rematerialise=full",
                       R"(mesh.axes=[{"name":"data","size":4},{"name":"spare","size":2}])"});
    workspace.document.reset(before, {});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(workspace.planner.is_current() && workspace.findings.is_priced(), patience);
    QVERIFY(workspace.findings.fixable() > 0);
    QVERIFY2(window.verdict()->text().contains("finding"), qPrintable(window.verdict()->text()));
    auto* list = window.findChild<QTreeWidget*>("problems");
    QVERIFY(list->topLevelItemCount() >= static_cast<int>(workspace.findings.list().size()));
    QVERIFY(list->topLevelItem(0)->text(3).contains("ms a step"));

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
