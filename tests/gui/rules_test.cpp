#include <QAbstractItemModelTester>
#include <QLineEdit>
#include <QStandardPaths>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>

#include "gui/look/appearance.h"
#include "gui/window/window.h"
#include "gui/workspace/array_facts.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace rules_test {

using namespace shardscope;

// The table of rules in the window: what each line matches, which one decided, and its edits.
class RulesTest : public WindowCase {
  Q_OBJECT

  const ShardingConfig& sharding() { return document().config().sharding; }
  RulesPanel* panel() { return window_->findChild<RulesPanel*>(); }
  QTableView* table() { return panel()->table(); }
  QAbstractItemModel* model() { return table()->model(); }
  int rows() { return model()->rowCount(); }
  QString cell(int row, int column) { return model()->index(row, column).data().toString(); }
  bool is_bold(int row) { return model()->index(row, 0).data(Qt::FontRole).value<QFont>().bold(); }
  void wait_for_plan() { QTRY_VERIFY_WITH_TIMEOUT(workspace().planner.is_current(), patience); }

  QLineEdit* open_editor(int row, int column) {
    table()->setCurrentIndex(model()->index(row, column));
    table()->setFocus();
    QTest::keyClick(table(), Qt::Key_F2);
    return table()->viewport()->findChild<QLineEdit*>();
  }
  void type_into(int row, int column, const QString& text) {
    QLineEdit* editor = open_editor(row, column);
    QVERIFY(editor);
    editor->selectAll();
    QTest::keyClicks(editor, text);
    QTest::keyClick(editor, Qt::Key_Return);
    QCoreApplication::processEvents();  // the text is taken behind the key
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }

 private slots:
  void initTestCase() { prepare(); }

  // A small decoder whose specs are rules: names of dimensions, then size.
  void init() {
    RunConfig config;
    config.model = {"decoder_only_transformer",
                    {{"vocab_size", int64_t{64}},
                     {"seq_len", int64_t{8}},
                     {"embed_dim", int64_t{16}},
                     {"num_layers", int64_t{2}},
                     {"num_heads", int64_t{2}}}};
    config.data = {"synthetic_lm", {{"batch_size", int64_t{8}}}};
    config.optimizer = {"adam", {{"learning_rate", 1e-3}}};
    config.mesh_axes = {{"data", 4}, {"model", 2}};
    config.sharding.rules = {{"params/**/kernel", LogicalAxes{{{"mlp", {"model"}}}}},
                             {"**", LargestDimension{{"data"}, 0}}};
    open_window(compiled_plans(), config);
    auto* dock = window_->findChild<QDockWidget*>("rules");
    QVERIFY(dock);
    dock->show();
    dock->raise();
    QTRY_VERIFY_WITH_TIMEOUT(panel()->isVisible(), patience);
    wait_for_plan();
  }

  void each_line_says_what_it_matches_and_decides() {
    QAbstractItemModelTester tester(model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
    QCOMPARE(rows(), 2);
    QCOMPARE(cell(0, RulesModel::placement_column), QString("mlp -> model"));
    QCOMPARE(cell(1, RulesModel::placement_column), QString("largest -> data"));
    QCOMPARE(cell(0, RulesModel::matched_column), QString("4"));  // two Dense kernels in each of two layers
    QCOMPARE(cell(1, RulesModel::matched_column), QString::number(workspace().planner.parameters().size()));
    QVERIFY(model()->index(0, RulesModel::names_column).data(Qt::ToolTipRole).toString().contains("Dense_0/kernel"));
  }

  void the_line_that_decided_the_selected_array_is_marked() {
    workspace().selection.select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    QVERIFY(!is_bold(0) && is_bold(1));
    const std::vector<std::string> kernel{"params", "SelfAttentionBlock_0", "MLP_0", "Dense_0", "kernel"};
    QVERIFY(workspace().planner.find_planned(kernel));
    workspace().selection.select_array(ParameterRef{kernel});
    QVERIFY(is_bold(0) && !is_bold(1));
  }

  void an_input_that_a_rule_places_shows_its_spec_and_is_edited_from_there() {
    RunConfig config = document().config();
    config.sharding.rules.push_back({"**", PartitionSpec{{{"data"}, {}}}, {SpecKind::input}});
    document().reset(config, {});
    wait_for_plan();
    const std::optional<ArrayFacts> facts = array_facts(workspace(), InputRef{});
    QVERIFY(facts && (facts->spec == PartitionSpec{{{"data"}, {}}}));
  }

  void a_short_name_is_the_parameters_before_it_is_a_values() {
    QVERIFY(find_array(workspace().planner, "Embed_0/embedding") ==
            ArrayRef(ParameterRef{{"params", "Embed_0", "embedding"}}));
    const std::shared_ptr<const Plan> plan = workspace().planner.plan();
    QVERIFY(std::ranges::find(plan->layouts, "Embed_0/embedding", &ValueLayout::name) != plan->layouts.end());
  }

  void a_placement_is_edited_in_place_and_undone() {
    const RunConfig before = document().config();
    type_into(0, RulesModel::placement_column, "mlp -> data, embed -> None");
    QVERIFY((sharding().rules[0].placement == RulePlacement(LogicalAxes{{{"mlp", {"data"}}, {"embed", {}}}})));
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
    type_into(0, RulesModel::names_column, "params/**/bias");
    QCOMPARE(sharding().rules[0].names, std::string("params/**/bias"));
    type_into(0, RulesModel::kinds_column, "optimizer, parameters");
    QVERIFY((sharding().rules[0].of == std::vector{SpecKind::parameter, SpecKind::optimizer_state}));
  }

  void what_cannot_be_read_is_said_and_not_taken() {
    const RunConfig before = document().config();
    type_into(0, RulesModel::placement_column, "mlp = model");
    QLineEdit* editor = table()->viewport()->findChild<QLineEdit*>();
    QVERIFY(editor && editor->isVisible());
    QVERIFY(editor->toolTip().contains("column 5"));
    QVERIFY(document().config() == before);
    QTest::keyClick(editor, Qt::Key_Escape);
    QVERIFY(document().config() == before);
  }

  void an_axis_that_the_mesh_lacks_is_marked_at_its_line() {
    type_into(1, RulesModel::placement_column, "largest -> modle");
    QTRY_VERIFY_WITH_TIMEOUT(!workspace().planner.errors().empty(), patience);
    const QModelIndex cell = model()->index(1, RulesModel::placement_column);
    QCOMPARE(cell.data(Qt::ForegroundRole).value<QColor>(), theme().error);
    QVERIFY(cell.data(Qt::ToolTipRole).toString().contains("modle"));
    QVERIFY(!model()->index(0, 1).data(Qt::ForegroundRole).isValid());
  }

  void rules_are_added_moved_and_removed_by_the_keyboard() {
    table()->setCurrentIndex(model()->index(1, RulesModel::names_column));
    table()->setFocus();
    QTest::keyClick(table(), Qt::Key_Insert);
    QCOMPARE(rows(), 3);
    QVERIFY((sharding().rules[1] == SpecRule{"**", PartitionSpec{}}));
    QCOMPARE(table()->currentIndex().row(), 1);
    QTest::keyClick(table(), Qt::Key_Up, Qt::AltModifier);
    QVERIFY((sharding().rules[0] == SpecRule{"**", PartitionSpec{}}));
    QCOMPARE(table()->currentIndex().row(), 0);
    QTest::keyClick(table(), Qt::Key_Delete);
    QCOMPARE(rows(), 2);
    for (int i = 0; i < 3; ++i) document().undo_stack().undo();
    QVERIFY(!document().is_modified());
  }

  void what_is_being_typed_is_of_its_own_line_whatever_is_pressed() {
    const std::vector<SpecRule> before = sharding().rules;
    const auto placement = [](const SpecRule& rule) { return placement_text(rule.placement); };
    for (const char* pressed : {"Down", "Add rule", "Remove"}) {
      QLineEdit* editor = open_editor(0, RulesModel::placement_column);
      QVERIFY(editor);
      editor->selectAll();
      QTest::keyClicks(editor, "mlp -> data");
      for (auto* button : panel()->findChildren<QToolButton*>())
        if (button->text() == pressed) button->click();
      const std::vector<SpecRule>& after = sharding().rules;
      const QString what = pressed;
      QCOMPARE(after.size(), before.size() + (what == "Add rule" ? 1 : 0) - (what == "Remove" ? 1 : 0));
      // The line that was typed in, and the other one.
      const int own = what == "Remove" ? -1 : 1, other = what == "Add rule" ? 2 : 0;
      if (own >= 0) QVERIFY2(placement(after[own]) == "mlp -> data", pressed);
      QVERIFY2(placement(after[other]) == placement(before[1]), pressed);
      while (document().undo_stack().canUndo()) document().undo_stack().undo();
      QVERIFY(sharding().rules == before);
      QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
  }

  void what_is_being_typed_stays_when_a_plan_arrives() {
    QLineEdit* editor = open_editor(0, RulesModel::placement_column);
    QVERIFY(editor);
    editor->selectAll();
    QTest::keyClicks(editor, "mlp -> da");
    set_axis_size(workspace().document, 0, 2);
    wait_for_plan();
    QCOMPARE(editor->text(), QString("mlp -> da"));
    QTest::keyClicks(editor, "ta");
    QTest::keyClick(editor, Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(cell(0, RulesModel::placement_column), QString("mlp -> data"), patience);
  }

  void an_activation_that_is_selected_can_be_constrained() {
    const std::shared_ptr<const Plan> plan = workspace().planner.plan();
    const auto gelu = std::ranges::find_if(plan->layouts, [](const ValueLayout& layout) {
      return layout.name.ends_with("gelu") && layout.shape.size() == 3;
    });
    QVERIFY(gelu != plan->layouts.end());
    workspace().selection.select_array(ValueRef{gelu->name});
    auto actions = table()->actions();
    const auto constrain =
        std::ranges::find_if(actions, [](QAction* action) { return action->text() == "Constrain activation"; });
    QVERIFY(constrain != actions.end() && (*constrain)->isEnabled());
    (*constrain)->trigger();
    QCOMPARE(sharding().constraints.size(), size_t{1});
    QCOMPARE(sharding().constraints[0].names, gelu->name);
    QCOMPARE(cell(0, RulesModel::placement_column), QString("P(None, None, None)"));
    type_into(0, RulesModel::placement_column, "P('data', None, 'model')");
    wait_for_plan();
    const std::shared_ptr<const Plan> after = workspace().planner.plan();
    const auto program_value = std::ranges::find(after->layouts, gelu->name, &ValueLayout::name);
    QCOMPARE(to_string(program_value->sharding, after->mesh), std::string("P('data', None, 'model')"));
    workspace().selection.select_array({});
    QVERIFY(!(*constrain)->isEnabled());
  }

  void a_problem_leads_to_its_line_whatever_the_name_is() {
    RunConfig config = document().config();
    config.sharding.constraints = {{"no such activation [0].size: x", {{{"data"}}}}};
    document().reset(config, {});
    QTRY_VERIFY_WITH_TIMEOUT(!workspace().planner.is_busy() && !workspace().planner.errors().empty(), patience);
    auto* problems = window_->findChild<QTreeWidget*>("problems");
    QVERIFY(problems->topLevelItemCount() > 0);
    table()->setCurrentIndex(model()->index(rows() - 1, 0));
    emit problems->itemActivated(problems->topLevelItem(0), 0);
    QCOMPARE(table()->currentIndex(), model()->index(0, RulesModel::placement_column));
  }
};

REGISTER_WINDOW_TEST(RulesTest)

}  // namespace rules_test

#include "rules_test.moc"
#include "tests/gui/window_case.h"
