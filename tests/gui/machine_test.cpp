#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTest>
#include <QTreeView>
#include <algorithm>

#include "engine/base/units.h"
#include "engine/config/strategy.h"
#include "engine/plan/prediction.h"
#include "gui/pages/machine_page.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/patience.h"
#include "tests/test_program.h"

namespace machine_test {

using namespace shardscope;

// The page of the machine, with real plans for machines that nobody here has.
class MachinePageTest : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;

  Workspace& workspace() { return window_->workspace(); }
  Document& document() { return workspace().document; }
  template <class Widget>
  Widget* find(const char* name) {
    return window_->findChild<Widget*>(name);
  }

  void open(std::vector<MeshAxis> axes, const std::string& machine) {
    RunConfig config = load_preset("llama_tiny");
    config.mesh_axes = std::move(axes);
    config.sharding.mode = LayoutMode::as_written;
    config.machine = machine.empty() ? machine : '"' + machine + '"';
    for (auto& [option, value] : config.data.options)
      if (option == "batch_size") value = int64_t(64);
    document().reset(config, {});
    settle();
  }

  void settle() {
    QTRY_VERIFY_WITH_TIMEOUT(!workspace().planner.is_busy(), patience);
    QVERIFY2(workspace().planner.is_current(),
             workspace().planner.errors().empty() ? "" : to_string(workspace().planner.errors().front()).c_str());
  }

  const MachinePicture& picture() { return find<MachineCanvas>("machineCanvas")->picture(); }

 private slots:
  void all_columns_of_the_traffic_are_seen_at_1280() {
    open({{"data", 2}, {"model", 4}}, "dgx_h100");
    QTRY_COMPARE_WITH_TIMEOUT(find<QTreeView>("machineTraffic")->horizontalScrollBar()->maximum(), 0, patience);
  }

  void the_software_that_runs_the_plan_is_chosen_and_undone() {
    open({{"data", 2}, {"model", 4}}, "dgx_h100");
    const auto summary = [&] { return find<QLabel>("machineDevice")->toolTip(); };
    QVERIFY2(summary().startsWith("unverified, 80.0 GiB"), qPrintable(summary()));
    auto* software = find<QComboBox>("stackChoice");
    QCOMPARE(software->currentText(), QString("shardscope"));
    const double before = workspace().planner.plan()->totals.seconds_per_step;
    software->setCurrentText("megatron");
    emit software->activated(software->currentIndex());
    settle();
    QCOMPARE(workspace().planner.plan()->stack.name, std::string("megatron"));
    QVERIFY(workspace().planner.plan()->totals.seconds_per_step != before);
    const Evidence& evidence = workspace().planner.plan()->machine.evidence;
    QVERIFY2(summary().startsWith(QString("%1 measurements, ").arg(evidence.measurements)), qPrintable(summary()));
    document().undo_stack().undo();
    settle();
    QCOMPARE(software->currentText(), QString("shardscope"));
    RunConfig own = document().config();
    own.stack = R"({"name": "megatron", "attention": {"kernel": "scores"}})";
    document().edit(own, "own");
    settle();
    QCOMPARE(software->currentIndex(), -1);
    QCOMPARE(software->placeholderText(), QString("megatron"));
  }

  void a_machine_that_is_not_there_is_an_error_at_its_field_until_it_is_taken_back() {
    open({{"data", 2}, {"model", 4}}, "dgx_h100");
    auto* machines = find<QComboBox>("machineChoice");
    machines->setEditText("nosuch");
    emit machines->lineEdit()->editingFinished();
    QTRY_VERIFY_WITH_TIMEOUT(machines->property("invalid").toBool(), patience);
    QCOMPARE(machines->currentText(), QString("nosuch"));
    QVERIFY2(machines->toolTip().contains("no machine is called 'nosuch'"), qPrintable(machines->toolTip()));
    machines->setEditText("dgx_h100");
    emit machines->lineEdit()->editingFinished();
    settle();
    QVERIFY(!machines->property("invalid").toBool());
    for (int edits = 0; edits < 2; ++edits) document().undo_stack().undo();
    settle();
    QVERIFY(!machines->property("invalid").toBool());
    QCOMPARE(machines->currentText(), QString("dgx_h100"));
  }

  void init() {
    window_ = std::make_unique<MainWindow>(compiled_plans(), SHARDSCOPE_BINARY_DIR "/bin/shardrun");
    window_->resize(1280, 800);
    window_->show();
    window_->show_page("machine");
  }
  void cleanup() {
    document().reset(document().config(), {});
    window_.reset();
  }

  void the_status_line_has_range_utilisation_exposed_communication_and_cost() {
    open({{"data", 2}, {"model", 4}}, "dgx_h100");
    QVERIFY2(window_->verdict()->text().count(" to ") == 1, qPrintable(window_->verdict()->text()));  // "to plan"
    QVERIFY(window_->findChild<QLabel*>("verdict3")->toolTip().contains("unverified"));
    RunConfig config = document().config();
    config.machine = R"({"name": "dgx_h100", "price_per_device_hour": 2})";
    config.stack = "\"megatron\"";
    document().edit(config, "a stack and a price");
    settle();
    const Plan& plan = *workspace().planner.plan();
    const Utilisation use = utilisation(plan);
    const PredictedRange range = seconds_range(plan);
    QVERIFY(range && range->first < plan.totals.seconds_per_step && plan.totals.seconds_per_step < range->second);
    const QString line = window_->verdict()->text();
    for (const std::string& part :
         {seconds_text(range->first) + " to " + seconds_text(range->second), "MFU " + share_text(use.mfu()),
          seconds_text(plan.simulation.most_exposed()) + " exposed",
          QString::number(2 * use.device_hours(1e9), 'g', 4).toStdString() + " for 10\u2079 tokens"})
      QVERIFY2(line.contains(QString::fromStdString(part)), qPrintable(line + "\n" + QString::fromStdString(part)));
    QVERIFY(window_->findChild<QLabel*>("verdict4")->toolTip().contains(" over model"));
    QVERIFY(window_->width() <= 1280);
  }

  void a_name_is_found_by_a_part_of_it_and_undone() {
    open({{"data", 8}, {"model", 2}}, "");
    auto* machines = find<QComboBox>("machineChoice");
    const std::string before = document().config().machine;
    machines->setFocus();
    machines->lineEdit()->selectAll();
    QTest::keyClicks(machines->lineEdit(), "dgx_h100");
    QTest::keyClick(machines->lineEdit(), Qt::Key_Return);
    settle();
    QCOMPARE(document().config().machine, std::string("\"dgx_h100\""));
    QCOMPARE(picture().boxes.front().level, 1);
    document().undo_stack().undo();
    settle();
    QCOMPARE(document().config().machine, before);
  }

  void a_name_that_is_none_is_a_problem_and_nothing_is_lost() {
    open({{"data", 8}, {"model", 2}}, "dgx_h100");
    auto* machines = find<QComboBox>("machineChoice");
    machines->setFocus();
    machines->lineEdit()->selectAll();
    QTest::keyClicks(machines->lineEdit(), "dgx_h10");
    QTest::keyClick(machines->lineEdit(), Qt::Key_Escape);  // what it proposes
    QTest::keyClick(machines->lineEdit(), Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(!workspace().planner.is_busy(), patience);
    if (document().config().machine == "\"dgx_h100\"") return;  // the proposal was taken
    QVERIFY(!workspace().planner.errors().empty());
    QVERIFY(!picture().devices.empty());
    document().undo_stack().undo();
    settle();
    QCOMPARE(machines->currentText(), QString("dgx_h100"));
  }

  void a_click_selects_the_device_and_a_row_frames_its_group() {
    open({{"data", 8}, {"model", 2}}, "dgx_h100");
    auto* canvas = find<MachineCanvas>("machineCanvas");
    const MachinePicture::Cell cell = picture().devices.back();
    QTest::mouseClick(canvas, Qt::LeftButton, {},
                      QPointF(cell.place.x + cell.place.width / 2, cell.place.y + cell.place.height / 2).toPoint());
    QCOMPARE(workspace().selection.device(), std::optional(cell.device));
    const QImage before = canvas->grab().toImage();
    auto* table = find<QTreeView>("machineTraffic");
    QVERIFY(table->model()->rowCount() > 0);
    table->setCurrentIndex(table->model()->index(0, 0));
    QVERIFY(canvas->grab().toImage() != before);
  }

  // Tensor parallelism between hosts, data parallelism within: the wrong way round.
  void a_heavy_axis_on_slow_links_is_marked_and_moved_in_one_undoable_click() {
    open({{"model", 2}, {"data", 8}}, "dgx_h100");
    auto* move = find<QPushButton>("moveAxis");
    QVERIFY2(move->isVisible(), qPrintable(find<QLabel>("machineAdvice")->text()));
    const double before = workspace().planner.plan()->simulation.seconds;
    QTest::mouseClick(move, Qt::LeftButton);
    settle();
    QCOMPARE(document().config().mesh_axes.back().name, std::string("model"));
    QVERIFY(workspace().planner.plan()->simulation.seconds < before);
    QVERIFY(!move->isVisible());
    document().undo_stack().undo();
    settle();
    QCOMPARE(document().config().mesh_axes.back().name, std::string("data"));
  }

  // Of a strategy it is the order of its axes, and the strategy stays.
  void the_axis_of_a_strategy_moves_in_its_order() {
    RunConfig config = load_preset("llama_tiny");
    config.machine = "\"dgx_h100\"";
    for (auto& [option, value] : config.data.options)
      if (option == "batch_size") value = int64_t(64);
    StrategyConfig strategy;
    strategy.data = 8;
    strategy.tensor = 2;
    strategy.order = {"tensor", "data"};
    document().reset(with_strategy(config, strategy), {});
    settle();
    auto* move = find<QPushButton>("moveAxis");
    QVERIFY2(move->isVisible(), qPrintable(find<QLabel>("machineAdvice")->text()));
    QTest::mouseClick(move, Qt::LeftButton);
    settle();
    QCOMPARE(document().config().strategy->order, (std::vector<std::string>{"data", "tensor"}));
    QCOMPARE(document().config().mesh_axes.back().name, std::string("tensor"));
  }
};

REGISTER_WINDOW_TEST(MachinePageTest)

}  // namespace machine_test

#include "machine_test.moc"
