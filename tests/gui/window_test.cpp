#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QTest>
#include <QTimer>
#include <QTreeView>

#include "engine/base/units.h"
#include "gui/look/appearance.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/layout_view.h"
#include "gui/pages/timeline_page.h"
#include "gui/panels/spec_editor.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace window_test {

using namespace shardscope;

namespace {

// Plan steps that take so many milliseconds, one after the other.
std::vector<PlanStepTime> times_of(const std::vector<double>& milliseconds) {
  std::vector<PlanStepTime> times;
  int64_t at = 0;
  for (double ms : milliseconds) {
    const auto end = at + static_cast<int64_t>(ms * 1e6);
    times.push_back({at, at, end});
    at = end;
  }
  return times;
}

}  // namespace

class WindowTest : public WindowCase {
  Q_OBJECT

  bool settled() { return !planner().is_busy(); }
  QComboBox* spec_box(int dim) { return window_->inspector()->spec_editor()->field(dim); }

 private slots:
  void initTestCase() { prepare(); }

  void init() { open_window(made::source(), made::config()); }

  void cleanup() { close_window(); }

  void the_tabs_of_all_pages_are_seen_at_1280() {
    window_->resize(1280, 800);
    const auto* pages = window_->findChild<QTabWidget*>("pages");
    QTRY_VERIFY_WITH_TIMEOUT(pages->tabBar()->sizeHint().width() <= pages->width(), patience);
  }

  void mesh_size_typed_on_the_keyboard_replans_and_shows_it() {
    QSpinBox* data = window_->mesh_bar()->field(0);
    data->setFocus();
    data->selectAll();
    QTest::keyClicks(data, "2");
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    QCOMPARE(planner().plan()->mesh.device_count(), 4);
    QTest::keyClick(data, Qt::Key_Down);
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    QCOMPARE(planner().plan()->mesh.axis_size(0), int64_t{1});
    QCOMPARE(document().undo_stack().count(), 1);
  }

  void mesh_size_changed_with_the_mouse_replans() {
    QSpinBox* model = window_->mesh_bar()->field(1);
    QStyleOptionSpinBox option;
    option.initFrom(model);
    option.subControls = QStyle::SC_All;
    option.stepEnabled = QAbstractSpinBox::StepUpEnabled | QAbstractSpinBox::StepDownEnabled;
    const QRect down = model->style()->subControlRect(QStyle::CC_SpinBox, &option, QStyle::SC_SpinBoxDown, model);
    QTest::mouseClick(model, Qt::LeftButton, {}, down.center());
    QTRY_VERIFY_WITH_TIMEOUT(planner().plan()->mesh.axis_size(1) == 1, patience);
    QCOMPARE(document().config().mesh_axes[1].size, int64_t{1});
  }

  void each_edit_says_in_the_status_line_what_it_changed() {
    const double before = double(planner().plan()->totals.memory_total);
    set_axis_size(document(), 0, 2);
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    const double change = double(planner().plan()->totals.memory_total) - before;
    QVERIFY(change != 0);
    const QString text = window_->verdict()->text();
    QVERIFY2(text.contains(QString::fromStdString(signed_text(change, bytes_text))), qPrintable(text));
    QVERIFY(text.startsWith("plan ok") || text.startsWith("checking") || text.contains("finding"));
  }

  void memory_that_is_not_there_is_the_verdict_and_train_asks() {
    PlanSource large = made::source();
    large.plan = [](const RunConfig& config, std::stop_token stop) {
      Plan plan = made::plan(config, stop);
      plan.warnings = {{"memory", "the ranks need 40960 MiB together, the host has 16384 MiB", "mesh", "split more"}};
      return plan;
    };
    MainWindow window(large, "/nowhere/shardrun");
    window.workspace().document.reset(made::config(), {});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current(), patience);
    QVERIFY2(window.verdict()->text().startsWith("does not fit"), qPrintable(window.verdict()->text()));
    RunControl& run = window.workspace().run;
    for (const bool anyway : {false, true}) {
      int asked = 0;
      QTimer timer;
      connect(&timer, &QTimer::timeout, [&] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (!box || asked++) return;
        QVERIFY(box->text().contains("40960 MiB"));
        for (QAbstractButton* button : box->buttons())
          if ((box->buttonRole(button) == QMessageBox::AcceptRole) == anyway) button->click();
      });
      timer.start(5);
      window.findChild<QAction*>("train")->trigger();
      QCOMPARE(asked, 1);
      if (!anyway) QCOMPARE(run.state(), RunControl::State::idle);
    }
    QTRY_COMPARE_WITH_TIMEOUT(run.state(), RunControl::State::failed, patience);  // there is no shardrun
  }

  void a_plan_with_warnings_is_not_called_ok() {
    PlanSource warned = made::source();
    warned.plan = [](const RunConfig& config, std::stop_token stop) {
      Plan plan = made::plan(config, stop);
      plan.warnings = {{"rule", "rule 0 matched nothing", "sharding.rules[0]", ""}};
      return plan;
    };
    MainWindow window(warned, "/nowhere/shardrun");
    window.workspace().document.reset(made::config(), {});
    window.show();
    QTRY_VERIFY_WITH_TIMEOUT(window.workspace().planner.is_current(), patience);
    QVERIFY2(window.verdict()->text().startsWith("1 warning"), qPrintable(window.verdict()->text()));
    QVERIFY(window.findChild<QLabel*>("verdict0")->toolTip().contains("rule 0 matched nothing"));
  }

  void a_spec_chosen_in_the_drop_down_is_in_config_plan_and_tree() {
    window_->workspace().selection.select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    QComboBox* rows = spec_box(0);
    const int none = rows->findText("None");
    rows->setFocus();
    while (rows->currentIndex() != none) QTest::keyClick(rows, Qt::Key_Up);
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    QVERIFY(spec_of(document().config(), ParameterRef{{"params", "Embed_0", "embedding"}}) ==
            (PartitionSpec{{{}, {"model"}}}));
    QVERIFY(planner().plan()->parameters.front().sharding.dims[0].empty());
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    const QModelIndexList found = tree->model()->match(tree->model()->index(0, 0), Qt::DisplayRole, "embedding", 1,
                                                       Qt::MatchRecursive | Qt::MatchExactly);
    QCOMPARE(found.size(), 1);
    QCOMPARE(found.front().siblingAtColumn(ParameterModel::spec_column).data().toString(), QString("P(None, 'model')"));
  }

  void a_spec_can_be_edited_in_the_tree() {
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    const QModelIndex bias =
        tree->model()
            ->match(tree->model()->index(0, 0), Qt::DisplayRole, "bias", 1, Qt::MatchRecursive | Qt::MatchExactly)
            .value(0);
    QVERIFY(bias.isValid());
    tree->setCurrentIndex(bias.siblingAtColumn(ParameterModel::spec_column));
    tree->edit(bias.siblingAtColumn(ParameterModel::spec_column));
    auto* editor = tree->findChild<SpecEditor*>();
    QVERIFY(editor);
    QTest::keyClick(editor->field(0), Qt::Key_Down);
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    QVERIFY(spec_of(document().config(), ParameterRef{{"params", "Dense_0", "bias"}}) == (PartitionSpec{{{"data"}}}));
  }

  void undo_and_redo_restore_the_exact_config_and_plan() {
    const RunConfig first = document().config();
    const uint64_t first_hash = planner().plan()->hash;
    set_axis_size(document(), 0, 2);
    set_spec_dim(document(), ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {"model"});
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    const RunConfig last = document().config();
    const uint64_t last_hash = planner().plan()->hash;
    QVERIFY(last_hash != first_hash);
    QTest::keySequence(window_.get(), QKeySequence::Undo);
    QTest::keySequence(window_.get(), QKeySequence::Undo);
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    QVERIFY(document().config() == first);
    QCOMPARE(planner().plan()->hash, first_hash);
    QCOMPARE(window_->mesh_bar()->field(0)->value(), 4);
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+Z"));
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+Z"));
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    QVERIFY(document().config() == last);
    QCOMPARE(planner().plan()->hash, last_hash);
  }

  void an_illegal_size_is_an_error_at_the_field_and_keeps_the_last_good_plan() {
    const std::shared_ptr<const Plan> good = planner().plan();
    QSpinBox* data = window_->mesh_bar()->field(0);
    for (const QString& text : {QString("3"), QString("0")}) {
      data->setFocus();
      data->selectAll();
      QTest::keyClicks(data, text);
      QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
      QVERIFY(data->property("invalid").toBool());
      QVERIFY(!data->toolTip().isEmpty());
      QCOMPARE(planner().plan(), good);
      QVERIFY(window_->findChild<QLabel*>("banner")->isVisible());
      QVERIFY(window_->verdict()->text().contains("problem"));
    }
    data->selectAll();
    QTest::keyClicks(data, "2");
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(!data->property("invalid").toBool());
    QVERIFY(!window_->findChild<QLabel*>("banner")->isVisible());
  }

  void an_illegal_spec_is_an_error_at_its_drop_down_and_in_the_problems() {
    window_->workspace().selection.select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    set_spec_dim(document(), ParameterRef{{"params", "Embed_0", "embedding"}}, 2, 1, {"data"});
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    QVERIFY(spec_box(0)->property("invalid").toBool() || spec_box(1)->property("invalid").toBool());
    auto* problems = window_->findChild<QTreeWidget*>("problems");
    QVERIFY(problems->topLevelItemCount() > 0);
    emit problems->itemActivated(problems->topLevelItem(0), 0);
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    QVERIFY(tree->findChild<SpecEditor*>());
  }

  void selecting_in_one_view_selects_in_all() {
    window_->show_page("collectives");
    auto* table = window_->findChild<QTreeView*>("collectives");
    table->setCurrentIndex(table->model()->index(1, 0));
    const auto step = table->model()->index(1, 0).data(CollectivesModel::step_role).value<StepRef>();
    QCOMPARE(window_->workspace().selection.step(), std::optional(step));
    window_->workspace().selection.select_step(
        table->model()->index(0, 0).data(CollectivesModel::step_role).value<StepRef>());
    QCOMPARE(table->currentIndex().row(), 0);
    window_->workspace().selection.select_array(ParameterRef{{"params", "Dense_0", "bias"}});
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    QCOMPARE(tree->currentIndex().siblingAtColumn(0).data().toString(), QString("bias"));
  }

  void hovering_a_shard_or_a_device_lights_the_same_device() {
    window_->show_page("layout");
    window_->workspace().selection.select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    auto* page = window_->findChild<LayoutView*>();
    for (int device = 0; device < 8; ++device) {
      for (const QRectF& rect : {page->device_rect(device), page->shard_rect(device)}) {
        QVERIFY(rect.isValid());
        QTest::mouseMove(page, rect.center().toPoint());
        QTRY_COMPARE_WITH_TIMEOUT(window_->workspace().selection.hovered_device(), std::optional(device), patience);
      }
    }
  }

  void arrow_keys_walk_the_mesh() {
    window_->show_page("layout");
    auto* page = window_->findChild<LayoutView*>();
    page->setFocus();
    QTest::keyClick(page, Qt::Key_Right);
    QCOMPARE(window_->workspace().selection.device(), std::optional(0));
    QTest::keyClick(page, Qt::Key_Right);
    QCOMPARE(window_->workspace().selection.device(), std::optional(1));
    QTest::keyClick(page, Qt::Key_Down);
    QCOMPARE(window_->workspace().selection.device(), std::optional(3));
    QTest::keyClick(page, Qt::Key_Escape);
    QVERIFY(!window_->workspace().selection.device());
  }

  void copied_collectives_have_exact_values_and_the_total() {
    window_->show_page("collectives");
    auto* page = window_->findChild<CollectivesPage*>();
    page->table()->clearSelection();
    const QString text = page->copied_text();
    for (const Instruction& instruction : planner().plan()->instructions())
      if (is_collective(instruction.kind()))
        QVERIFY(text.contains(QString::fromStdString(exact_bytes(instruction.wire_bytes()))));
    QVERIFY(text.contains("Total: 2 collectives"));
  }

  void values_measured_on_the_ranks_stand_beside_the_planned_ones() {
    RunControl& run = window_->workspace().run;
    const std::shared_ptr<const Plan> plan = planner().plan();
    HelloMessage hello;
    hello.plan_hash = plan->hash;
    hello.ranks = 8;
    hello.plan_steps = plan_step_names(*plan);
    run.begin_replay(plan);
    run.receive(hello);
    StepMessage step;
    step.metrics = {{"loss", 6.931}, {"accuracy", 0.125}};
    step.step_ms = 4321;
    TraceMessage trace{TraceChoice::latest, 1, {}};
    for (int rank = 0; rank < 8; ++rank) {
      step.ranks.push_back({rank,
                            plan->totals.memory_total + 3 * 1048576,
                            1000,
                            2000,
                            5.0 * 1048576,
                            7 * 1048576,
                            123456,
                            654321,
                            {1, 2, 3},
                            {1, 1, 1},
                            {4, 5, 6}});
      trace.ranks.push_back(times_of({60, 17, 11, 20, 2, 33}));
    }
    run.receive(step);
    run.receive(trace);
    QCOMPARE(run.state(), RunControl::State::running);

    auto* table = window_->findChild<QTableWidget*>("comparison");
    for (auto* tabs : window_->findChildren<QTabWidget*>())
      if (tabs->indexOf(table) >= 0) tabs->setCurrentWidget(table);
    QStringList shown, tips;
    for (int row = 0; row < table->rowCount(); ++row)
      for (int column = 0; column < table->columnCount(); ++column) {
        shown << table->item(row, column)->text();
        tips << table->item(row, column)->toolTip();
      }
    const auto text = [](const std::string& value) { return QString::fromStdString(value); };
    const double arena = double(plan->totals.memory_total);
    for (const std::string& value :
         {bytes_text(arena), bytes_text(arena + 3 * 1048576), bytes_text(plan->totals.wire_bytes_per_device),
          bytes_text(5.0 * 1048576), bytes_text(7.0 * 1048576), seconds_text(plan->totals.seconds_per_step),
          seconds_text(4.321), bytes_text(123456), bytes_text(654321)})
      QVERIFY2(shown.contains(text(value)), value.c_str());
    QVERIFY(tips.contains(text(exact_bytes(arena + 3 * 1048576))));

    window_->show_page("collectives");
    auto* collectives = window_->findChild<QTreeView*>("collectives");
    QStringList measured;
    for (int row = 0; row < collectives->model()->rowCount(); ++row)
      measured << collectives->model()->index(row, CollectivesModel::measured_column).data().toString();
    measured.sort();
    QCOMPARE(measured, QStringList({text(seconds_text(0.022)), text(seconds_text(0.077))}));

    auto* timeline = window_->findChild<TimelinePage*>();
    auto* choice = timeline->findChild<QComboBox*>("timelineStep");
    window_->show_page("timeline");
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    QVERIFY(!choice->isVisible());  // the latest trace is known, the median not yet
    trace.choice = TraceChoice::median;
    run.receive(trace);
    QVERIFY(choice->isVisible());

    // Of another plan nothing measured is shown beside its steps.
    set_axis_size(document(), 0, 2);
    QTRY_VERIFY_WITH_TIMEOUT(settled(), patience);
    for (int row = 0; row < collectives->model()->rowCount(); ++row)
      QCOMPARE(collectives->model()->index(row, CollectivesModel::measured_column).data().toString(),
               QString("\u2013"));
  }

  void a_rank_that_dies_is_named_and_a_new_start_offered() {
    RunControl& run = window_->workspace().run;
    run.begin_replay(planner().plan());
    run.receive(FailureMessage{3, "SIGKILL", "params/Embed_0/gather", "rank 3 was killed"});
    run.receive(FinishedMessage{RunEnd::failed, 0});
    const QString state = window_->findChild<QLabel*>("runState")->text();
    for (const char* part : {"rank 3", "SIGKILL", "params/Embed_0/gather"}) QVERIFY2(state.contains(part), part);
    QVERIFY(!window_->findChild<QWidget*>("startAgain")->isHidden());
    QVERIFY(window_->findChild<QAction*>("train")->isEnabled());
  }

  void a_missing_shardrun_is_a_failed_run_and_the_window_lives() {
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(window_->workspace().run.state(), RunControl::State::failed, patience);
    QVERIFY(window_->workspace().run.state_text().contains("shardrun"));
    set_axis_size(document(), 0, 2);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
  }

  void optimizer_state_appears_on_demand_and_the_filter_narrows() {
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    const auto count = [&](const QString& name) {
      return tree->model()
          ->match(tree->model()->index(0, 0), Qt::DisplayRole, name, -1, Qt::MatchRecursive | Qt::MatchExactly)
          .size();
    };
    QCOMPARE(count("mu"), 0);
    for (auto* box : window_->findChildren<QCheckBox*>())
      if (box->text() == "Optimizer state") box->click();
    QCOMPARE(count("mu"), 3);
    for (auto* line : window_->findChildren<QLineEdit*>())
      if (line->placeholderText() == "Filter by name") QTest::keyClicks(line, "embed");
    QCOMPARE(count("mu"), 1);
    QCOMPARE(count("bias"), 0);
  }

  void no_two_entries_of_a_menu_and_nothing_in_the_window_share_a_mnemonic() {
    const auto check = [](const QStringList& texts) {
      QMap<QString, QString> taken;
      for (const QString& text : texts) {
        const QString key = QKeySequence::mnemonic(text).toString();
        if (key.isEmpty()) continue;
        QVERIFY2(!taken.contains(key), qPrintable(taken[key] + " and " + text));
        taken[key] = text;
      }
    };
    const auto texts_of = [](const QWidget* menu) {
      QStringList texts;
      for (const QAction* action : menu->actions()) texts << action->text();
      return texts;
    };
    const auto* pages = window_->findChild<QTabWidget*>("pages");
    QStringList window = texts_of(window_->menuBar());
    for (int i = 0; i < pages->count(); ++i) window << pages->tabText(i);
    QVERIFY(window.size() >= 11);
    check(window);
    for (const QMenu* menu : window_->findChildren<QMenu*>()) check(texts_of(menu));
  }

  void every_page_and_theme_paints() {
    for (const ThemeChoice look : {ThemeChoice::dark, ThemeChoice::light}) {
      apply_theme(*qApp, look);
      for (const char* page : {"layout", "flow", "memory", "collectives", "timeline"}) {
        QVERIFY(window_->show_page(page));
        const QImage image = window_->grab().toImage();
        QSet<QRgb> colors;
        for (int y = 0; y < image.height(); y += 3)
          for (int x = 0; x < image.width(); x += 3) colors.insert(image.pixel(x, y));
        QVERIFY(colors.size() > 30);
      }
    }
    QVERIFY(!window_->show_page("nothing"));
  }
};

REGISTER_WINDOW_TEST(WindowTest)

}  // namespace window_test

#include "window_test.moc"
