#include <QAbstractItemModelTester>
#include <QInputDialog>
#include <QLabel>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QStandardPaths>
#include <QTableView>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <atomic>
#include <random>
#include <semaphore>
#include <set>

#include "engine/base/units.h"
#include "gui/compare/compare_page.h"
#include "gui/compare/factorisations.h"
#include "gui/compare/sweep_model.h"
#include "gui/look/appearance.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace compare_test {

using namespace shardscope;

// Pinned plans side by side, and all meshes of as many devices.
class CompareTest : public WindowCase {
  Q_OBJECT

  PinnedPlans& pins() { return window_->findChild<ComparePage*>()->pins(); }
  QTableView* table(const char* name) { return window_->findChild<QTableView*>(name); }
  void settle() { QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience); }
  void open(const PlanSource& source) {
    open_window(source, made::config());
    QVERIFY(window_->show_page("compare"));
  }
  QString cell(const char* name, int row, int column) {
    return table(name)->model()->index(row, column).data().toString();
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() { open(made::source()); }
  void cleanup() { close_window(); }

  void all_quantities_are_seen_where_there_is_room() {
    window_->resize(1280, 1000);
    QTableView* seen = table("comparedPlans");
    const int rows = seen->model()->rowCount();
    QVERIFY(rows > 8);
    QTRY_VERIFY_WITH_TIMEOUT(seen->viewport()->height() >= rows * seen->rowHeight(0), patience);
  }

  void factorisations_are_all_products_and_as_many_as_are_counted() {
    std::mt19937 random(5);
    for (int round = 0; round < 60; ++round) {
      const int64_t devices = 1 + random() % 96;
      std::vector<MeshAxis> axes(1 + random() % 4);
      std::vector<bool> fixed;
      for (MeshAxis& axis : axes) {
        axis.size = 1 + random() % 3;
        fixed.push_back(random() % 4 == 0);
      }
      const auto all = factorisations(devices, axes, fixed, 100000);
      std::set<std::vector<int64_t>> different;
      for (const auto& mesh : all) {
        std::vector<int64_t> sizes;
        int64_t product = 1;
        for (size_t i = 0; i < mesh.size(); ++i) {
          product *= mesh[i].size;
          sizes.push_back(mesh[i].size);
          if (fixed[i]) QCOMPARE(mesh[i].size, axes[i].size);
        }
        QCOMPARE(product, devices);
        different.insert(sizes);
      }
      QCOMPARE(different.size(), all.size());
      QCOMPARE(factorisation_count(devices, axes, fixed), static_cast<int64_t>(all.size()));
    }
    QCOMPARE(factorisation_count(16384, std::vector<MeshAxis>(7), std::vector<bool>(7)), int64_t{38760});
    QCOMPARE(factorisations(16384, std::vector<MeshAxis>(7), std::vector<bool>(7), 256).size(), size_t{256});
  }

  void a_pinned_plan_stays_and_stands_beside_the_shown_one_with_its_difference() {
    const double memory = double(planner().plan()->totals.memory_total);
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+P"));
    QVERIFY(pins().at(0) && !pins().at(1));
    QCOMPARE(pins().pin(), -1);  // it is pinned already
    set_axis_size(document(), 0, 2);
    settle();
    const double now = double(planner().plan()->totals.memory_total);
    QVERIFY(now != memory);
    QCOMPARE(cell("comparedPlans", QuantitiesModel::mesh_row, 0), QString("data=2, model=2"));
    QCOMPARE(cell("comparedPlans", QuantitiesModel::mesh_row, 1), QString("data=4, model=2"));
    const QString pinned = cell("comparedPlans", QuantitiesModel::memory_row, 1);
    QVERIFY(pinned.startsWith(QString::fromStdString(bytes_text(memory))));
    QVERIFY2(pinned.contains(QString::fromStdString(signed_text(memory - now, bytes_text))), qPrintable(pinned));
    QVERIFY(!table("comparedPlans")->isColumnHidden(1) && table("comparedPlans")->isColumnHidden(2));
  }

  void bytes_and_time_of_a_pinned_plan_stand_with_their_difference_and_less_is_good() {
    window_.reset();
    open_window(compiled_plans(), made::small_gpt(2, 4, 1));
    QVERIFY(window_->show_page("compare"));
    const PlanTotals before = plan().totals;
    const double exposed = plan().simulation.most_exposed();
    QCOMPARE(cell("comparedPlans", QuantitiesModel::cost_row, 0), QString(QChar(0x2013)));
    pins().pin();
    set_axis_size(document(), 0, 2);
    settle();
    const PlanTotals now = plan().totals;
    const std::vector<std::tuple<int, double, double, std::string (*)(double)>> rows{
        {QuantitiesModel::moved_row, before.wire_bytes_per_device, now.wire_bytes_per_device, bytes_text},
        {QuantitiesModel::exposed_row, exposed, plan().simulation.most_exposed(), seconds_text},
        {QuantitiesModel::time_row, before.seconds_per_step, now.seconds_per_step, seconds_text}};
    for (const auto& [row, then, shown, text] : rows) {
      QVERIFY(then != shown);
      QCOMPARE(cell("comparedPlans", row, 0), QString::fromStdString(text(shown)));
      QCOMPARE(cell("comparedPlans", row, 1),
               QString::fromStdString(text(then) + "  (" + signed_text(then - shown, text) + ")"));
      const QModelIndex pinned = table("comparedPlans")->model()->index(row, 1);
      QCOMPARE(pinned.data(Qt::ForegroundRole).value<QColor>(), then < shown ? theme().good : theme().warning);
    }
  }

  void the_layouts_that_differ_are_listed_and_selected_from_there() {
    pins().pin();
    QVERIFY(!table("comparedLayouts")->isVisible());
    set_spec_dim(document(), ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {"model"});
    settle();
    QTRY_COMPARE_WITH_TIMEOUT(table("comparedLayouts")->model()->rowCount(), 3, patience);  // and its optimizer state
    QCOMPARE(cell("comparedLayouts", 0, 0), QString("Dense_0/bias"));
    QCOMPARE(cell("comparedLayouts", 0, 1), QString("P('model',)"));
    QCOMPARE(cell("comparedLayouts", 0, 2), QString("P(None,)"));
    table("comparedLayouts")->setCurrentIndex(table("comparedLayouts")->model()->index(0, 0));
    QVERIFY(window_->workspace().selection.array() == ArrayRef(ParameterRef{{"params", "Dense_0", "bias"}}));
    for (auto* box : window_->findChild<ComparePage*>()->findChildren<QCheckBox*>())
      if (box->text() == "All arrays") box->click();
    QVERIFY(table("comparedLayouts")->model()->rowCount() >= 3);
  }

  void compare_and_the_layout_modes_say_the_same_of_one_plan() {
    window_.reset();
    open_window(compiled_plans(), made::small_gpt(2, 2, 2, 4));
    QVERIFY(window_->show_page("compare"));
    const QString collectives = QString::number(exchanges(plan()));
    QVERIFY(exchanges(plan()) > std::ssize(planner().index().collectives));
    pins().pin();
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+A"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    QCOMPARE(cell("comparedPlans", QuantitiesModel::collectives_row, 0), collectives);
    QCOMPARE(cell("comparedPlans", QuantitiesModel::collectives_row, 1), collectives);
    for (int row = 0; row < table("sweep")->model()->rowCount(); ++row)
      if (cell("sweep", row, SweepModel::mesh_column) == "batch=2, model=2")
        QCOMPARE(cell("sweep", row, SweepModel::collectives_column), collectives);
    QVERIFY(window_->show_page("collectives"));
    const auto mode = static_cast<int>(plan().as_written ? LayoutMode::as_written : LayoutMode::fastest);
    QTRY_COMPARE_WITH_TIMEOUT(window_->findChild<QLabel*>(QString("mode%1_3").arg(mode))->text(), collectives,
                              patience);
  }

  void a_plan_that_nobody_looks_at_is_let_go() {
    pins().pin();
    set_axis_size(document(), 0, 2);
    settle();
    QVERIFY(table("comparedLayouts")->model()->rowCount() >= 0);
    const std::weak_ptr<const Plan> seen = planner().plan();
    QVERIFY(window_->show_page("layout"));
    set_axis_size(document(), 0, 8);
    settle();
    QTRY_VERIFY_WITH_TIMEOUT(seen.expired(), patience);
  }

  void a_pinned_plan_is_taken_by_one_click_and_undone() {
    const RunConfig first = document().config();
    pins().pin();
    set_axis_size(document(), 0, 2);
    set_mode(document(), LayoutMode::as_written);
    settle();
    const RunConfig second = document().config();
    window_->findChild<QToolButton*>("pinA")->menu()->actions().front()->trigger();
    QVERIFY(document().config() == first);
    document().undo_stack().undo();
    QVERIFY(document().config() == second);
  }

  void a_fourth_pin_takes_the_place_of_the_first() {
    for (const int size : {4, 2, 1, 8}) {
      set_axis_size(document(), 0, size);
      settle();
      QVERIFY(pins().pin() >= 0);
    }
    QCOMPARE(pins().at(0)->plan->mesh.axis_size(0), int64_t{8});
    QCOMPARE(pins().at(1)->plan->mesh.axis_size(0), int64_t{2});
    pins().unpin(1);
    QVERIFY(!pins().at(1));
  }

  void all_meshes_of_the_devices_are_planned_and_sorted() {
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+A"));
    QTableView* sweep = table("sweep");
    QCOMPARE(sweep->model()->rowCount(), 4);
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    std::set<QString> meshes;
    double last = 0;
    sweep->sortByColumn(SweepModel::memory_column, Qt::AscendingOrder);
    for (int row = 0; row < 4; ++row) {
      meshes.insert(cell("sweep", row, SweepModel::mesh_column));
      const double memory =
          sweep->model()->index(row, SweepModel::memory_column).data(SweepModel::sort_role).toDouble();
      QVERIFY(memory >= last);
      last = memory;
    }
    QVERIFY((meshes == std::set<QString>{"data=8, model=1", "data=4, model=2", "data=2, model=4", "data=1, model=8"}));
    for (int row = 0; row < 4; ++row) {
      const bool shown = cell("sweep", row, SweepModel::mesh_column) == "data=4, model=2";
      QCOMPARE(sweep->model()->index(row, 0).data(Qt::FontRole).value<QFont>().bold(), shown);
    }
  }

  void a_mesh_of_the_table_is_taken_as_one_undoable_edit_and_has_the_planned_values() {
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+A"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    QTableView* sweep = table("sweep");
    const RunConfig before = document().config();
    for (int row = 0; row < sweep->model()->rowCount(); ++row) {
      if (cell("sweep", row, SweepModel::mesh_column) != "data=2, model=4") continue;
      sweep->setCurrentIndex(sweep->model()->index(row, 0));
      const QString memory = cell("sweep", row, SweepModel::memory_column);
      button("sweepTake")->click();
      settle();
      QCOMPARE(memory, QString::fromStdString(bytes_text(double(planner().plan()->totals.memory_total))));
    }
    QCOMPARE(document().config().mesh_axes[1].size, int64_t{4});
    QCOMPARE(document().undo_stack().count(), 1);
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
    sweep->setCurrentIndex(sweep->model()->index(0, 0));
    QVERIFY(button("sweepTake")->isEnabled());
    set_microbatches(document(), 2);
    QVERIFY(!button("sweepTake")->isEnabled());  // it was planned for another run file
    emit sweep->activated(sweep->model()->index(0, 0));
    QVERIFY(document().config().mesh_axes == before.mesh_axes);
  }

  void a_mesh_that_cannot_be_planned_says_why_and_an_axis_can_keep_its_size() {
    auto* devices = window_->findChild<QSpinBox*>("sweepDevices");
    devices->setValue(6);
    button("sweepStart")->click();
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    QCOMPARE(table("sweep")->model()->rowCount(), 4);
    int wrong = 0;
    for (int row = 0; row < 4; ++row) wrong += cell("sweep", row, SweepModel::state_column).startsWith("cannot be");
    QVERIFY(wrong >= 2);  // 64 rows over 6, or over 3
    devices->setValue(16);
    for (auto* box : window_->findChild<ComparePage*>()->findChildren<QCheckBox*>())
      if (box->text() == "keep model") box->click();
    button("sweepStart")->click();
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    QCOMPARE(table("sweep")->model()->rowCount(), 1);
    QCOMPARE(cell("sweep", 0, 0), QString("data=8, model=2"));
  }

  void a_number_of_devices_that_was_typed_stays_until_the_mesh_has_another() {
    auto* devices = window_->findChild<QSpinBox*>("sweepDevices");
    QCOMPARE(devices->value(), 8);
    devices->setValue(64);
    set_steps(document(), 77);
    set_mode(document(), LayoutMode::as_written);
    QCOMPARE(devices->value(), 64);
    set_axis_size(document(), 0, 8);
    QCOMPARE(devices->value(), 16);
  }

  void planning_of_meshes_is_cancelled_without_waiting_and_what_is_known_stays() {
    std::counting_semaphore<> allowed(0);
    std::atomic<int> planned = 0;
    PlanSource slow = made::source();
    slow.plan = [&](const RunConfig& config, std::stop_token stop) {
      if (config.steps == 99) {
        allowed.acquire();
        if (stop.stop_requested()) throw Cancelled();
        ++planned;
      }
      return made::plan(config, stop);
    };
    window_.reset();
    open(slow);
    allowed.release();  // for the window's own plan
    set_steps(document(), 99);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+A"));
    allowed.release();
    const auto known = [&] {
      int count = 0;
      for (int row = 0; row < table("sweep")->model()->rowCount(); ++row)
        count += !cell("sweep", row, SweepModel::memory_column).isEmpty();
      return count;
    };
    QTRY_COMPARE_WITH_TIMEOUT(known(), 1, patience);
    QCOMPARE(window_->findChild<QProgressBar*>("sweepProgress")->value(), 1);
    button("sweepStart")->click();  // Cancel
    QVERIFY(!window_->findChild<ComparePage*>()->is_busy());
    QCOMPARE(known(), 1);
    allowed.release(4);
    window_.reset();
    QVERIFY(planned <= 3);
    open(made::source());
  }

  void the_models_keep_the_rules_of_models() {
    new QAbstractItemModelTester(window_->findChild<SweepModel*>(),
                                 QAbstractItemModelTester::FailureReportingMode::QtTest, table("sweep"));
    for (const char* name : {"comparedPlans", "comparedLayouts", "sweep"})
      new QAbstractItemModelTester(table(name)->model(), QAbstractItemModelTester::FailureReportingMode::QtTest,
                                   table(name));
    pins().pin();
    set_axis_size(document(), 0, 2);
    settle();
    pins().pin();
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+A"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
    pins().unpin(0);
    document().undo_stack().undo();
    settle();
  }

  void every_setting_that_differs_has_a_row() {
    pins().pin();
    const auto row_of = [this](const QString& setting) {
      const QAbstractItemModel* model = table("comparedPlans")->model();
      for (int row = 0; row < model->rowCount(); ++row)
        if (model->headerData(row, Qt::Vertical).toString() == setting) return row;
      return -1;
    };
    QCOMPARE(table("comparedPlans")->model()->rowCount(), int(QuantitiesModel::rows));
    set_microbatches(document(), 4);
    set_rematerialisation(document(), "full");
    set_zero(document(), {2, {"data"}});
    set_steps(document(), 77);
    settle();
    const std::pair<const char*, const char*> values[] = {{"schedule.microbatches", "4"},
                                                          {"schedule.rematerialise", "\"full\""},
                                                          {"sharding.zero.stage", "2"},
                                                          {"steps", "77"}};
    for (const auto& [setting, value] : values) {
      const int row = row_of(setting);
      QVERIFY2(row >= 0, setting);
      QCOMPARE(cell("comparedPlans", row, 0), QString(value));
      QVERIFY2(cell("comparedPlans", row, 1) != value, setting);
    }
    while (document().undo_stack().canUndo()) document().undo_stack().undo();
    settle();
    QCOMPARE(table("comparedPlans")->model()->rowCount(), int(QuantitiesModel::rows));
  }

  void optimizer_state_that_is_otherwise_is_listed() {
    window_.reset();
    open_window(compiled_plans(), made::small_gpt(1, 2, 2));
    QVERIFY(window_->show_page("compare"));
    pins().pin();
    set_zero(document(), {1, {"batch"}});
    settle();
    QVERIFY(planner().is_current());
    const QAbstractItemModel* model = table("comparedLayouts")->model();
    QTRY_VERIFY_WITH_TIMEOUT(model->rowCount() > 0, patience);
    int states = 0;
    for (int row = 0; row < model->rowCount(); ++row)
      states += std::holds_alternative<StateRef>(model->index(row, 0).data(LayoutsModel::array_role).value<ArrayRef>());
    QVERIFY(states > 0);
  }

  void a_pinned_plan_can_be_named() {
    pins().pin();
    set_axis_size(document(), 0, 2);
    settle();
    const QAbstractItemModel* model = table("comparedPlans")->model();
    QCOMPARE(model->headerData(1, Qt::Horizontal).toString(), QString("A"));
    auto* menu = window_->findChild<QToolButton*>("pinA")->menu();
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      dialog->setTextValue("eight devices");
      dialog->accept();
    });
    timer.start(5);
    for (QAction* action : menu->actions())
      if (action->text().contains("Rename")) action->trigger();
    QCOMPARE(model->headerData(1, Qt::Horizontal).toString(), QString("eight devices"));
    QCOMPARE(window_->findChild<QToolButton*>("pinA")->text(), QString("Plan eight devices"));
    QCOMPARE(table("comparedLayouts")->model()->headerData(2, Qt::Horizontal).toString(), QString("eight devices"));
  }

  void the_table_of_meshes_is_of_its_file_and_says_when_it_is_out_of_date() {
    QTest::keySequence(window_.get(), QKeySequence("Ctrl+Shift+A"));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->findChild<ComparePage*>()->is_busy(), patience);
    QVERIFY(table("sweep")->model()->rowCount() > 0 && table("sweep")->isEnabled());
    const auto says = [this](const QString& words) {
      const auto labels = window_->findChild<ComparePage*>()->findChildren<QLabel*>();
      return std::ranges::any_of(labels, [&](const QLabel* label) { return label->text().contains(words); });
    };
    QVERIFY(!says("Out of date"));
    set_steps(document(), 77);
    QVERIFY(says("Out of date") && !table("sweep")->isEnabled());
    document().undo_stack().undo();
    QVERIFY(!says("Out of date") && table("sweep")->isEnabled());
    RunConfig other = made::config();
    other.seed = 5;
    document().reset(other, "/nowhere/other.json");
    QCOMPARE(table("sweep")->model()->rowCount(), 0);
  }
};

REGISTER_WINDOW_TEST(CompareTest)

}  // namespace compare_test

#include "compare_test.moc"
