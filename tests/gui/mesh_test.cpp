#include <QComboBox>
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QSpinBox>
#include <QStandardPaths>
#include <QTableWidget>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <algorithm>

#include "engine/machine/chosen_machine.h"
#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/panels/mesh_dialog.h"
#include "gui/window/presets.h"
#include "gui/window/tool_bar.h"
#include "gui/window/window.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace mesh_test {

using namespace shardscope;

// The mesh edited in its dialog, with the real planner.
class MeshTest : public WindowCase {
  Q_OBJECT

  static RunConfig config_with_rules() {
    RunConfig config = load_preset(default_preset);
    config.mesh_devices = {0, 2, 4, 6, 1, 3, 5, 7};
    config.sharding.constraints = {{"**/gelu", {{{"data"}, {}, {"model"}}}}};
    config.sharding.rules = {{.placement = LogicalAxes{{{"mlp", {"model"}}, {"embed", {}}}}},
                             {.placement = LargestDimension{{"data"}, 65536}}};
    return config;
  }

  // Opens the dialog by its action; `edit` acts on its table, then it is accepted. Gives what the dialog said.
  QString edit_mesh(const std::function<void(QTableWidget*)>& edit) {
    QString said;
    QTimer timer;
    connect(&timer, &QTimer::timeout, [&] {
      auto* dialog = qobject_cast<MeshDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      timer.stop();
      edit(dialog->findChild<QTableWidget*>());
      for (const QLabel* label : dialog->findChildren<QLabel*>()) said += label->text() + "\n";
      dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->click();
    });
    timer.start(5);
    window_->findChild<QAction*>("meshAxes")->trigger();
    return said;
  }

  static void press(QTableWidget* table, const QString& button) {
    for (auto* one : table->window()->findChildren<QPushButton*>())
      if (one->text() == button) one->click();
  }

  static void type(QTableWidget* table, int row, int column, const QString& text) {
    table->setCurrentCell(row, column);
    table->editItem(table->item(row, column));
    auto* line = table->findChild<QLineEdit*>();
    QVERIFY(line);
    line->selectAll();
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(!table->findChild<QLineEdit*>(), patience);  // the table takes it in a later turn
  }

 private slots:
  void the_size_of_an_axis_is_shown_whatever_it_is() {
    for (const int64_t size : {int64_t{1}, int64_t{16384}, Mesh::max_devices, int64_t{100'000}}) {
      RunConfig config = document().config();
      config.mesh_axes.front().size = size;
      document().edit(config, "a large mesh");
      auto* field = window_->findChild<QSpinBox*>("axis_" + QString::fromStdString(config.mesh_axes.front().name));
      QCOMPARE(field->value(), static_cast<int>(size));
      const int digits = field->fontMetrics().horizontalAdvance(field->text());
      QVERIFY(field->findChild<QLineEdit*>()->contentsRect().width() >= digits);
    }
  }

  void the_network_between_hosts_is_predicted_with_and_one_undoable_edit_and_no_number_is_refused() {
    const RunConfig before = document().config();
    edit_mesh([](QTableWidget* table) {
      const auto field = [table](const char* name) { return table->window()->findChild<QLineEdit*>(name); };
      const auto* ok = table->window()->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
      QVERIFY(!field("networkRate")->isEnabled());  // of one host there is none
      field("hosts")->setText("h0:4,h1:4");
      QVERIFY(field("networkRate")->isEnabled());
      field("networkRate")->setText("fast");
      QVERIFY(!ok->isEnabled());
      field("networkRate")->setText("0.001");
      field("networkLatency")->setText("10");
      QVERIFY(ok->isEnabled());
    });
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current() && planner().plan()->machine.levels.size() == 2, patience);
    const Level network = planner().plan()->machine.levels.back();
    QCOMPARE(network.bytes_per_second, 1e6);
    QCOMPARE(network.latency, 10e-6);
    const double slow = planner().plan()->totals.seconds_per_step;
    edit_mesh([](QTableWidget* table) {
      const auto field = [table](const char* name) { return table->window()->findChild<QLineEdit*>(name); };
      QCOMPARE(field("networkRate")->text(), QString("0.001"));
      field("networkRate")->clear();
    });
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(planner().plan()->totals.seconds_per_step < slow);
    QCOMPARE(planner().plan()->machine.levels.back().latency, 10e-6);
    document().undo_stack().undo();
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
  }

  void a_dialog_in_which_nothing_is_changed_changes_nothing() {
    RunConfig config = document().config();
    config.hosts = "h0:4,h1:4";
    config.machine = with_network(config.machine, {12345678901.0, 1e-5});
    document().reset(config, {});
    edit_mesh([](QTableWidget*) {});
    QVERIFY(document().config() == config && !document().is_modified());
  }

  void initTestCase() { prepare(); }

  void init() {
    open_window(compiled_plans(), config_with_rules());
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QVERIFY2(planner().is_current(), qPrintable(window_->verdict()->text()));
  }

  void cleanup() { window_.reset(); }

  void a_renamed_axis_is_renamed_in_specs_constraints_and_rules() {
    const RunConfig before = document().config();
    edit_mesh([](QTableWidget* table) {
      type(table, 0, 0, "batch");
      type(table, 1, 0, "data");  // the name that the other one had
    });
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QVERIFY2(planner().is_current(), qPrintable(window_->verdict()->text()));
    const RunConfig& after = document().config();
    QCOMPARE(after.mesh_axes[0].name, std::string("batch"));
    QCOMPARE(after.mesh_axes[1].name, std::string("data"));
    QVERIFY(after.mesh_devices == before.mesh_devices);
    QVERIFY(after.sharding.in == (PartitionSpec{{{"batch"}, {}}}));
    QVERIFY(after.sharding.parameters.front().spec == (PartitionSpec{{{"batch"}, {"data"}}}));
    QVERIFY(after.sharding.constraints.front().spec == (PartitionSpec{{{"batch"}, {}, {"data"}}}));
    QVERIFY(std::get<LogicalAxes>(after.sharding.rules[0].placement).axes.front().second ==
            std::vector<std::string>{"data"});
    QVERIFY(std::get<LargestDimension>(after.sharding.rules[1].placement).axes == std::vector<std::string>{"batch"});
    for (size_t i = 0; i < planner().plan()->parameters.size(); ++i)
      QVERIFY(planner().plan()->parameters[i].sharding.rank >= 0);
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
    QVERIFY(!document().undo_stack().canUndo());
  }

  void an_axis_that_takes_the_name_of_a_removed_one_does_not_take_its_specs() {
    const RunConfig before = document().config();
    edit_mesh([](QTableWidget* table) {
      table->setCurrentCell(0, 0);
      press(table, "&Remove");
      type(table, 0, 0, "data");
    });
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    const RunConfig& after = document().config();
    QCOMPARE(after.mesh_axes.size(), size_t{1});
    QCOMPARE(after.mesh_axes[0].name, std::string("data"));
    QCOMPARE(after.mesh_axes[0].size, before.mesh_axes[1].size);
    const std::vector<std::string> renamed{"data"}, removed = after.sharding.in.dims[0];
    QVERIFY(removed != renamed);
    QVERIFY(after.sharding.parameters.front().spec == (PartitionSpec{{removed, renamed}}));
    QVERIFY(after.sharding.constraints.front().spec == (PartitionSpec{{removed, {}, renamed}}));
    QVERIFY(std::get<LogicalAxes>(after.sharding.rules[0].placement).axes.front().second == renamed);
    QVERIFY(std::get<LargestDimension>(after.sharding.rules[1].placement).axes == removed);
    for (const char* place : {"sharding.in", "sharding.constraints", "sharding.rules[1]"}) {
      QVERIFY2(std::ranges::any_of(planner().errors(),
                                   [&](const Error& error) { return to_string(error.place).starts_with(place); }),
               place);
    }
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
    QVERIFY(!document().undo_stack().canUndo());
  }

  void an_axis_that_is_removed_and_added_anew_in_one_go_has_its_specs() {
    const RunConfig before = document().config();
    edit_mesh([](QTableWidget* table) {
      table->setCurrentCell(0, 0);
      press(table, "&Remove");
      press(table, "&Add");
      type(table, 1, 0, "data");
    });
    QCOMPARE(document().config().mesh_axes[1].name, std::string("data"));
    QVERIFY(document().config().sharding == before.sharding);
  }

  void axes_that_change_places_keep_their_specs() {
    const RunConfig before = document().config();
    edit_mesh([](QTableWidget* table) {
      table->setCurrentCell(1, 0);
      press(table, "Move &up");
    });
    QCOMPARE(document().config().mesh_axes[0].name, std::string("model"));
    QVERIFY(document().config().sharding == before.sharding);
    QVERIFY(document().config().mesh_devices == before.mesh_devices);
  }

  void each_fault_of_the_mesh_is_a_line_of_its_own() {
    MeshDialog dialog(document().config());
    auto* table = dialog.findChild<QTableWidget*>();
    for (int row = 0; row < 2; ++row) table->item(row, 1)->setText("0");
    for (auto* label : dialog.findChildren<QLabel*>())
      if (label->text().contains("<br>")) return;
    QFAIL("two faults in one line");
  }

  void each_axis_says_over_which_links_its_groups_communicate() {
    RunConfig config = document().config();
    config.mesh_axes = {{"data", 4}, {"model", 2}, {"one", 1}};
    config.mesh_devices.clear();
    config.hosts = "h0:4,h1:4";
    MeshDialog dialog(config);
    const auto* table = dialog.findChild<QTableWidget*>();
    const auto links = [&] {
      QStringList texts;
      for (int row = 0; row < table->rowCount(); ++row) texts << table->item(row, 2)->text();
      return texts;
    };
    QCOMPARE(links(), QStringList({"network", "host", ""}));
    dialog.findChild<QLineEdit*>("deviceOrder")->setText("0, 4, 1, 5, 2, 6, 3, 7");
    QCOMPARE(links(), QStringList({"host", "network", ""}));
    dialog.findChild<QLineEdit*>("hosts")->clear();
    QCOMPARE(links(), QStringList({"host", "host", ""}));
    dialog.findChild<QLineEdit*>("deviceOrder")->setText("0, 0");
    QCOMPARE(links(), QStringList({"", "", ""}));
  }

  void a_machine_that_is_chosen_in_the_menu_prices_the_plan_and_can_be_taken_back() {
    const RunConfig before = document().config();
    const double here = planner().plan()->totals.seconds_per_step;
    const auto action = [this](const QString& text) {
      for (QAction* one : window_->menuBar()->findChildren<QAction*>())
        if (one->text() == text) return one;
      return static_cast<QAction*>(nullptr);
    };
    QVERIFY(action("dgx_h100"));
    action("dgx_h100")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(planner().plan()->machine.name, std::string("dgx_h100"));
    QVERIFY(planner().plan()->totals.seconds_per_step < here);
    action("This &host")->trigger();
    QVERIFY(document().config() == before);
    document().undo_stack().undo();
    QVERIFY(document().config().machine.find("dgx_h100") != std::string::npos);
    choose_machine(document(), "dgx_h10");
    QTRY_VERIFY_WITH_TIMEOUT(!planner().errors().empty(), patience);
    QVERIFY(planner().errors().front().message.find("dgx_h10") != std::string::npos);
    QCOMPARE(planner().plan()->machine.name, std::string("dgx_h100"));
  }

  void an_order_of_devices_that_is_lost_is_said_where_the_mesh_is_edited() {
    const auto* notice = window_->findChild<QLabel*>("notice");
    const QString said = edit_mesh([](QTableWidget* table) { type(table, 0, 1, "2"); });
    QVERIFY2(said.contains("order of the devices"), qPrintable(said));
    QVERIFY(document().config().mesh_devices.empty());
    QVERIFY2(notice->toolTip().contains("order of the devices"), qPrintable(notice->toolTip()));
    document().undo_stack().undo();
    QVERIFY(!document().config().mesh_devices.empty());
    QSpinBox* data = window_->mesh_bar()->field(0);
    data->setFocus();
    data->selectAll();
    QTest::keyClicks(data, "2");
    QVERIFY(document().config().mesh_devices.empty());
    QVERIFY(notice->isVisible() && notice->text().contains("order of the devices"));
  }

  void an_order_of_devices_that_is_typed_or_proposed_is_the_plans_in_one_step() {
    const RunConfig before = document().config();
    edit_mesh([](QTableWidget* table) {
      auto* order = table->window()->findChild<QLineEdit*>("deviceOrder");
      QCOMPARE(order->text(), QString("0, 2, 4, 6, 1, 3, 5, 7"));
      auto* ok = table->window()->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
      for (const char* wrong : {"0-6", "0-6, 6", "0-7, 8", "3-1", "zero", "0-3-7", "0-999999999"}) {
        order->setText(wrong);
        QVERIFY2(!ok->isEnabled(), wrong);
      }
      order->setText("4-7, 0-3");
      QVERIFY(ok->isEnabled());
    });
    const std::vector<int> halves{4, 5, 6, 7, 0, 1, 2, 3};
    QVERIFY(document().config().mesh_devices == halves);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(planner().plan()->mesh.devices() == halves);
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
    const std::vector<std::vector<int>> proposed{
        {}, {0, 4, 1, 5, 2, 6, 3, 7}, {0, 1, 3, 2, 4, 5, 7, 6}};  // of data=4, model=2
    for (int choice = 1; choice <= 3; ++choice) {
      edit_mesh([choice](QTableWidget* table) {
        auto* orders = table->window()->findChild<QComboBox*>("orders");
        orders->setCurrentIndex(choice);
        emit orders->activated(choice);
      });
      QVERIFY(document().config().mesh_devices == proposed[static_cast<size_t>(choice - 1)]);
    }
  }

  void hosts_that_are_named_share_the_devices_and_too_few_are_refused() {
    const RunConfig before = document().config();
    const QString said = edit_mesh([](QTableWidget* table) {
      auto* hosts = table->window()->findChild<QLineEdit*>("hosts");
      auto* ok = table->window()->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok);
      hosts->setText("h0:2,h1:2");
      QVERIFY(!ok->isEnabled());
      hosts->setText("h0:4,h1:4");
      QVERIFY(ok->isEnabled());
    });
    QVERIFY2(said.contains("h0 has 4, h1 has 4"), qPrintable(said));
    QVERIFY(document().config().mesh_axes == before.mesh_axes);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const std::vector<int> halves{4, 4}, whole{8};
    QVERIFY(planner().plan()->ranks_per_host == halves);
    edit_mesh([](QTableWidget* table) { table->window()->findChild<QLineEdit*>("hosts")->clear(); });
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(planner().plan()->ranks_per_host == whole);
    QVERIFY(document().config() == before);
  }

  void the_plus_beside_the_axes_adds_one_that_has_the_keyboard() {
    document().reset(load_preset(default_preset), {});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const RunConfig before = document().config();
    QMenu* menu = window_->mesh_bar()->findChild<QToolButton*>("addAxis")->menu();
    emit menu->aboutToShow();
    QStringList offered;
    for (QAction* action : menu->actions()) offered << action->text();
    QVERIFY(!offered.contains("data = 2") && offered.contains("sequence = 2"));
    menu->actions()[offered.indexOf("sequence = 2")]->trigger();
    QVERIFY(document().config().mesh_axes.back() == (MeshAxis{"sequence", 2}));
    QVERIFY(window_->mesh_bar()->field(2)->hasFocus());
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(planner().plan()->mesh.device_count(), 16);
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
  }

  void the_tool_bar_shows_all_its_fields_while_axes_come_and_go() {
    window_->resize(1280, 800);
    document().reset(load_preset(default_preset), {});
    auto* bar = window_->findChild<ToolBar*>("toolBar");
    const auto hidden = [&] {
      QStringList names;
      for (QAction* action : bar->actions())
        if (action->isVisible() && !bar->widgetForAction(action)->isVisible())
          names << bar->widgetForAction(action)->objectName();
      return names.join(' ');
    };
    const auto stays_whole = [&](const QString& after) {
      QTRY_VERIFY2_WITH_TIMEOUT(hidden().isEmpty(), qPrintable(hidden() + " at once after " + after), patience);
      QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy() && !workspace().findings.is_pricing(), patience);
      QTest::qWait(0);
      QVERIFY2(hidden().isEmpty(), qPrintable(hidden() + " with what is found, after " + after));
    };
    const std::vector<MeshAxis> two = document().config().mesh_axes;
    for (const char* third : {"axis", "sequence"}) {
      for (const char* fourth : {"", "spare"}) {
        std::vector<MeshAxis> axes = two;
        axes.push_back({third, 2});
        if (*fourth) axes.push_back({fourth, 1});
        set_mesh_axes(document(), axes);
        stays_whole(QString("%1 %2").arg(third, fourth));
        document().undo_stack().undo();
        stays_whole("undo");
      }
    }
  }

  void every_parameter_tells_the_rule_that_decided_it_and_an_edit_starts_from_what_the_rule_gave() {
    RunConfig config = document().config();
    config.mesh_devices.clear();
    config.sharding.parameters.clear();
    config.sharding.constraints.clear();
    config.sharding.rules = {{.names = "params/**/embedding", .placement = PartitionSpec{{{"data"}, {"model"}}}},
                             {.placement = LargestDimension{{"model"}, 0}}};
    document().reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QVERIFY2(planner().is_current(), qPrintable(window_->verdict()->text()));
    auto* tree = window_->findChild<QTreeView*>("parameterTree");
    const ParameterRef embedding{{"params", "Embed_0", "embedding"}};
    const auto row_of = [&](const ArrayRef& array) {
      const QModelIndexList found =
          tree->model()->match(tree->model()->index(0, 0), ParameterModel::array_role, QVariant::fromValue(array), 1,
                               Qt::MatchRecursive | Qt::MatchExactly);
      return found.value(0);
    };
    const auto inspector_says = [&](const QString& text) {
      for (const QLabel* label : window_->inspector()->findChildren<QLabel*>())
        if (label->isVisible() && label->text().remove(QChar(0x200b)).contains(text)) return true;
      return false;
    };
    int of_first = 0, of_second = 0;
    for (const ParameterPlan& parameter : planner().plan()->parameters) {
      QVERIFY(parameter.named);
      const QString why = QString::fromStdString(parameter.origin.text);
      (parameter.path.back() == "embedding" ? of_first : of_second) += 1;
      window_->workspace().selection.select_array(ParameterRef{parameter.path});
      QVERIFY2(inspector_says(QString(why).replace("->", QChar(0x2192)).toHtmlEscaped()), qPrintable(why));
      QVERIFY(why.contains(parameter.path.back() == "embedding" ? "rules[0]" : "rules[1]"));
    }
    QVERIFY(of_first == 1 && of_second > 10);

    window_->workspace().selection.select_array(embedding);
    QCOMPARE(row_of(embedding).siblingAtColumn(ParameterModel::spec_column).data().toString(),
             QString("P('data', 'model')"));
    QComboBox* rows = window_->inspector()->spec_editor()->field(0);
    QCOMPARE(rows->currentText(), QString("'data'"));
    rows->setFocus();
    QTest::keyClick(rows, Qt::Key_Up);
    QCOMPARE(rows->currentText(), QString("None"));
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const ParameterSpec* named = find_parameter_spec(document().config().sharding, embedding.path);
    QVERIFY(named && named->spec == (PartitionSpec{{{}, {"model"}}}));
    QVERIFY(document().config().sharding.rules == config.sharding.rules);
    QVERIFY(inspector_says("you set it"));
    document().undo_stack().undo();
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(inspector_says("rules[0]"));
  }
};

REGISTER_WINDOW_TEST(MeshTest)

}  // namespace mesh_test

#include "mesh_test.moc"
