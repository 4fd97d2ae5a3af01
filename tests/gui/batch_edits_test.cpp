#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QMenuBar>
#include <QStandardPaths>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QTreeView>
#include <algorithm>
#include <set>

#include "engine/compile/document_of.h"
#include "gui/document/spec_batch.h"
#include "gui/document/spec_text.h"
#include "gui/look/appearance.h"
#include "gui/panels/spec_targets.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace batch_edits_test {

using namespace shardscope;

// Specs of many arrays edited at once, each edit one undoable step.
class BatchEditsTest : public WindowCase {
  Q_OBJECT

  static constexpr int layers = 3;

  QUndoStack& undo() { return document().undo_stack(); }
  QTreeView* tree() { return window_->findChild<QTreeView*>("parameterTree"); }
  ParametersPanel* panel() { return window_->findChild<ParametersPanel*>(); }

  // The made model with layers of a matrix and a vector each.
  static std::vector<ParameterInfo> parameters() {
    std::vector<ParameterInfo> all = made::parameters();
    for (int layer = 0; layer < layers; ++layer) {
      all.push_back({{"params", "Block_" + std::to_string(layer), "Dense_0", "kernel"}, {{64, 128}, DType::f32}});
      all.push_back({{"params", "Block_" + std::to_string(layer), "Dense_1", "kernel"}, {{64, 128}, DType::f32}});
      all.push_back({{"params", "Block_" + std::to_string(layer), "Dense_0", "bias"}, {{128}, DType::f32}});
    }
    return all;
  }
  static PlanSource source() {
    PlanSource source = made::source();
    source.parameters = [](const RunConfig&) { return parameters(); };
    source.plan = [](const RunConfig& config, std::stop_token stop) {
      Plan plan = made::plan(config, stop);
      const ParameterPlan like = plan.parameters.front();
      for (const ParameterInfo& info : parameters()) {
        if (!info.path[1].starts_with("Block_")) continue;
        ParameterPlan& parameter = plan.parameters.emplace_back(like);
        parameter.path = info.path;
        parameter.shape = info.type.shape;
        parameter.spec = spec_of(config, ParameterRef{info.path});
        parameter.sharding = Sharding::replicated(static_cast<int>(info.type.shape.size()));
      }
      return plan;
    };
    return source;
  }

  static ParameterPath kernel(int layer, int dense = 0) {
    return {"params", "Block_" + std::to_string(layer), "Dense_" + std::to_string(dense), "kernel"};
  }
  static ParameterPath bias(int layer) { return {"params", "Block_" + std::to_string(layer), "Dense_0", "bias"}; }
  PartitionSpec spec(const ParameterPath& path) { return spec_of(document().config(), ParameterRef{path}); }

  QModelIndex row(const ParameterPath& path) {
    return static_cast<ParameterModel*>(tree()->model())->index_of(ParameterRef{path});
  }
  QModelIndex group(const QString& name) {
    return tree()->model()->match(tree()->model()->index(0, 0), Qt::DisplayRole, name, 1, Qt::MatchExactly).value(0);
  }
  void select(const std::vector<ParameterPath>& paths) {
    tree()->clearSelection();
    for (const ParameterPath& path : paths)
      tree()->selectionModel()->setCurrentIndex(row(path), QItemSelectionModel::Select | QItemSelectionModel::Rows);
    tree()->setFocus();
  }
  void trigger(const char* action) { tree()->findChild<QAction*>(action)->trigger(); }
  void type(QLineEdit* field, const QString& text) {
    QVERIFY(field);
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, text);
    QTest::keyClick(field, Qt::Key_Return);
    QCoreApplication::processEvents();
  }
  SpecField* open_text() {
    QTest::keyClick(tree(), Qt::Key_F2, Qt::ShiftModifier);
    return tree()->findChild<SpecField*>();
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() { open_window(source(), made::config()); }

  void cleanup() { close_window(); }

  void a_spec_is_read_as_jax_writes_it_and_written_so() {
    const PartitionSpec spec{{{"data"}, {}, {"model", "seq"}}};
    QCOMPARE(spec_text(spec), QString("P('data', None, ('model', 'seq'))"));
    QCOMPARE(spec_text({}, 2), QString("P(None, None)"));
    for (const char* text :
         {"P('data', None, ('model', 'seq'))", "PartitionSpec(\"data\", None, (\"model\", \"seq\"))",
          "jax.sharding.PartitionSpec('data', None, ('model', 'seq'),)", "  P( 'data',None,('model','seq') ) "})
      QVERIFY2(parse_spec(QString(text)) == spec, text);
    for (const char* text : {"", "P(", "data, None", "mlp -> model", "P('data') P()", "Q('data')"})
      QVERIFY2(!spec_fault(text).isEmpty(), text);
  }

  void an_edit_of_a_dimension_is_reported_as_jax_writes_it() {
    QCOMPARE(dim_text({}), QString("None"));
    QCOMPARE(dim_text({"data"}), QString("'data'"));
    QCOMPARE(dim_text({"data", "model"}), QString("('data', 'model')"));
    Document document;
    document.reset(made::config(), {});
    set_spec_dim(document, ParameterRef{{"params", "Dense_0", "bias"}}, 1, 0, {"data", "model"});
    QCOMPARE(document.undo_stack().undoText(), QString("Dense_0/bias dimension 0 = ('data', 'model')"));
  }

  void the_choices_of_a_dimension_are_some_an_axis_and_every_order_is_some_choices_away() {
    const std::vector<MeshAxis> axes{{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}};
    const std::vector<std::vector<std::string>> starts{{}, {"a"}, {"b", "a"}, {"c", "a", "b"}, {"d", "c", "b", "a"}};
    for (const auto& now : starts) {
      const auto choices = spec_choices(axes, now);
      QVERIFY(choices.size() <= 11);
      QVERIFY(std::ranges::find(choices, now) != choices.end());
      QVERIFY(std::set(choices.begin(), choices.end()).size() == choices.size());
    }
    std::vector<std::string> wanted{"d", "a", "c", "b"}, order = wanted;
    std::ranges::sort(order);
    do {
      std::vector<std::string> now;
      for (const std::string& axis : order) {
        std::vector<std::string> next = now;
        next.push_back(axis);
        const auto choices = spec_choices(axes, now);
        QVERIFY(std::ranges::find(choices, next) != choices.end());
        now = next;
      }
    } while (std::ranges::next_permutation(order).found);
  }

  void a_spec_that_is_being_typed_is_for_no_array_that_is_selected_next() {
    const RunConfig before = document().config();
    const ParameterRef first{parameters()[0].path}, next{parameters()[1].path};
    workspace().selection.select_array(first);
    SpecField* field = window_->findChild<InspectorPanel*>()->spec_field();
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, "P('model', 'data')");
    workspace().selection.select_array(next);
    field->clearFocus();
    QVERIFY(document().config() == before);
  }

  void a_spec_that_is_being_typed_stays_while_another_window_is_in_front() {
    workspace().selection.select_array(ParameterRef{parameters()[0].path});
    SpecField* field = window_->findChild<InspectorPanel*>()->spec_field();
    field->setFocus();
    const QString shown = field->text();
    field->selectAll();
    QTest::keyClicks(field, "P(('data', 'mod");
    const QString typed = field->text();
    for (const auto& [reason, left] : {std::pair(Qt::ActiveWindowFocusReason, typed), {Qt::TabFocusReason, shown}}) {
      QFocusEvent out(QEvent::FocusOut, reason);
      QCoreApplication::sendEvent(field, &out);
      QCOMPARE(field->text(), left);
    }
  }

  void an_edit_of_several_selected_rows_is_of_all_of_them_and_one_step() {
    select({kernel(0), kernel(1, 1), bias(2)});
    QTest::keyClick(tree(), Qt::Key_F2);
    auto* editor = tree()->findChild<SpecEditor*>();
    QVERIFY(editor);
    QComboBox* dim = editor->field(0);
    dim->setCurrentIndex(dim->findText("'model'"));
    emit dim->activated(dim->currentIndex());
    QVERIFY((spec(kernel(0)) == PartitionSpec{{{"model"}, {}}}));
    QVERIFY((spec(kernel(1, 1)) == PartitionSpec{{{"model"}, {}}}));
    QVERIFY((spec(bias(2)) == PartitionSpec{{{"model"}}}));
    QCOMPARE(undo().count(), 1);
    undo().undo();
    QVERIFY(document().config() == made::config());
  }

  void a_choice_by_mouse_and_control_key_keeps_the_rows_selected_before() {
    const QRect first = tree()->visualRect(row(kernel(0))), second = tree()->visualRect(row(kernel(1)));
    tree()->scrollTo(row(kernel(1)));
    QTest::mouseClick(tree()->viewport(), Qt::LeftButton, {}, tree()->visualRect(row(kernel(0))).center());
    QTest::mouseClick(tree()->viewport(), Qt::LeftButton, Qt::ControlModifier,
                      tree()->visualRect(row(kernel(1))).center());
    QVERIFY(first.isValid() && second.isValid());
    QCOMPARE(panel()->selected_arrays().size(), size_t{2});
    QVERIFY(window_->workspace().selection.array() == ArrayRef(ParameterRef{kernel(1)}));
  }

  void the_inspector_shows_and_edits_all_selected_arrays() {
    give_spec(workspace(), spec_targets(workspace(), {ParameterRef{kernel(2)}}), {{{}, {"model"}}});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    InspectorPanel& inspector = *window_->inspector();
    const auto says = [&](const QString& text) {
      const auto labels = inspector.findChildren<QLabel*>();
      return std::ranges::any_of(labels, [&](QLabel* label) {
        return label->isVisible() && QString(label->text()).remove(QChar(0x200b)) == text;
      });
    };
    select({kernel(0), kernel(1), kernel(2), bias(0)});
    QVERIFY(says("4 arrays") && says("mixed"));
    SpecEditor& editor = *inspector.spec_editor();
    QCOMPARE(editor.rank(), 2);
    QCOMPARE(editor.field(0)->currentText(), QString("None"));
    QCOMPARE(editor.field(1)->currentIndex(), -1);
    QCOMPARE(editor.field(1)->placeholderText(), QString("mixed"));
    QCOMPARE(inspector.spec_field()->text(), QString());
    const int edits = undo().count();
    editor.field(1)->setFocus();
    QTest::keyClicks(editor.field(1), "d");
    for (int layer = 0; layer < layers; ++layer) QVERIFY((spec(kernel(layer)) == PartitionSpec{{{}, {"data"}}}));
    QVERIFY(spec(bias(0)).dims.empty());
    QCOMPARE(undo().count(), edits + 1);
    QCOMPARE(editor.field(1)->currentText(), QString("'data'"));
    QCOMPARE(panel()->selected_arrays().size(), size_t{4});
    select({kernel(0), kernel(1)});
    QCOMPARE(inspector.spec_field()->text(), QString("P(None, 'data')"));
    type(inspector.spec_field(), "P('model', None)");
    QVERIFY((spec(kernel(0)) == PartitionSpec{{{"model"}, {}}} && spec(kernel(1)) == spec(kernel(0))));
    select({kernel(1)});
    QVERIFY(says(title_of(ParameterRef{kernel(1)})));
  }

  void a_group_is_all_its_arrays_and_no_array_from_before() {
    select({{"params", "Embed_0", "embedding"}});
    tree()->setCurrentIndex(group("Block_1"));
    const std::vector<ArrayRef>& chosen = selection().arrays();
    QCOMPARE(chosen.size(), size_t{3});
    for (const ArrayRef& array : chosen) QVERIFY(name_of(array).contains("Block_1"));
    QVERIFY(std::ranges::find(chosen, selection().array()) != chosen.end());
    type(window_->inspector()->spec_field(), "P('model')");
    QVERIFY((spec(kernel(1)) == PartitionSpec{{{"model"}}} && spec(bias(1)) == spec(kernel(1))));
    QVERIFY((spec({"params", "Embed_0", "embedding"}) == PartitionSpec{{{"data"}, {"model"}}}));
    QCOMPARE(undo().count(), 1);
    selection().select_array(ParameterRef{bias(0)});  // elsewhere
    QCOMPARE(panel()->selected_arrays().size(), size_t{1});
    QCOMPARE(tree()->currentIndex(), row(bias(0)));
  }

  void what_the_filter_hides_is_no_longer_edited() {
    select({kernel(0), kernel(1), bias(1)});
    window_->findChild<QLineEdit*>("filter")->setText("Block_1");
    QCOMPARE(selection().arrays().size(), size_t{2});
    window_->findChild<QLineEdit*>("filter")->clear();
    QCOMPARE(panel()->selected_arrays().size(), size_t{2});
  }

  void a_spec_typed_on_a_group_row_goes_to_all_arrays_below_that_have_the_dimensions() {
    const QModelIndex block = group("Block_1");
    QVERIFY(block.isValid());
    tree()->setCurrentIndex(block);
    tree()->setFocus();
    QTest::keyClick(tree(), Qt::Key_F2);
    auto* field = tree()->findChild<SpecField*>();
    type(field, "P('data', 'model')");
    const PartitionSpec both{{{"data"}, {"model"}}};
    QVERIFY(spec(kernel(1)) == both && spec(kernel(1, 1)) == both);
    QVERIFY(spec(bias(1)).dims.empty() && spec(kernel(0)).dims.empty());
    QCOMPARE(undo().count(), 1);
    const QString reported = window_->findChild<QLabel*>("notice")->toolTip();
    QVERIFY2(reported.contains("1 of 3 arrays, with fewer than 2 dimensions"), qPrintable(reported));
    undo().undo();
    QVERIFY(document().config() == made::config());
  }

  void a_spec_is_typed_in_the_tree_and_in_the_inspector() {
    select({kernel(0)});
    type(open_text(), "P(None, ('data', 'model'))");
    QVERIFY((spec(kernel(0)) == PartitionSpec{{{}, {"data", "model"}}}));
    type(window_->inspector()->spec_field(), "P('data')");
    QVERIFY((spec(kernel(0)) == PartitionSpec{{{"data"}}}));
    QCOMPARE(window_->inspector()->spec_field()->text(), QString("P('data', None)"));
    QCOMPARE(undo().count(), 2);
  }

  void what_cannot_be_read_as_a_spec_is_said_and_not_taken() {
    select({kernel(0)});
    SpecField* field = open_text();
    type(field, "P('data'");
    QVERIFY(tree()->findChild<SpecField*>() && field->property("invalid").toBool());
    QVERIFY(field->toolTip().contains("column"));
    QTest::keyClick(field, Qt::Key_Escape);
    QCoreApplication::processEvents();
    QVERIFY(document().config() == made::config());
    SpecField* own = window_->inspector()->spec_field();
    const QString before = own->text();
    type(own, "nonsense(");
    QVERIFY(own->property("invalid").toBool());
    tree()->setFocus();
    QCOMPARE(own->text(), before);
    QVERIFY(document().config() == made::config());
  }

  void escape_takes_nothing_of_what_was_typed() {
    select({kernel(0)});
    SpecField* field = open_text();
    field->selectAll();
    QTest::keyClicks(field, "P('model', None)");
    QTest::keyClick(field, Qt::Key_Escape);
    QCoreApplication::processEvents();
    QVERIFY(document().config() == made::config());
  }

  void a_copied_spec_is_pasted_to_all_selected_arrays() {
    select({{"params", "Embed_0", "embedding"}});
    trigger("copySpec");
    QCOMPARE(QGuiApplication::clipboard()->text(), QString("P('data', 'model')"));
    select({kernel(0), kernel(2), bias(0)});
    trigger("pasteSpec");
    const PartitionSpec both{{{"data"}, {"model"}}};
    QVERIFY(spec(kernel(0)) == both && spec(kernel(2)) == both && spec(bias(0)).dims.empty());
    QCOMPARE(undo().count(), 1);
    QGuiApplication::clipboard()->setText("no spec");
    trigger("pasteSpec");
    QCOMPARE(undo().count(), 1);
    QVERIFY(window_->findChild<QLabel*>("notice")->toolTip().contains("no spec"));
  }

  void two_dimensions_are_swapped_in_one_step_even_where_each_alone_would_be_illegal() {
    select({{"params", "Embed_0", "embedding"}, kernel(0)});
    trigger("swapDimensions");
    QVERIFY((spec({"params", "Embed_0", "embedding"}) == PartitionSpec{{{"model"}, {"data"}}}));
    QCOMPARE(undo().count(), 1);
    undo().undo();
    window_->workspace().selection.select_array(ParameterRef{{"params", "Embed_0", "embedding"}});
    window_->inspector()->findChild<QToolButton*>("swapButton")->click();
    QVERIFY((spec({"params", "Embed_0", "embedding"}) == PartitionSpec{{{"model"}, {"data"}}}));
    QVERIFY((swapped({{{"a"}}}, 3, 0, 2) == PartitionSpec{{{}, {}, {"a"}}}));
  }

  void the_same_array_in_other_layers_differs_in_the_number_of_the_layer_alone() {
    const auto others = in_other_layers(parameters(), kernel(1));
    QVERIFY((others == std::vector<ParameterPath>{kernel(0), kernel(2)}));
    QVERIFY(in_other_layers(parameters(), {"params", "Embed_0", "embedding"}).empty());
    QVERIFY(in_other_layers(parameters(), {"params", "no", "such"}).empty());
    // Of one block alone the products of equal shape are each other's layers.
    std::vector<ParameterInfo> one = parameters();
    std::erase_if(one,
                  [](const ParameterInfo& info) { return info.path[1] == "Block_1" || info.path[1] == "Block_2"; });
    QVERIFY((in_other_layers(one, kernel(0)) == std::vector<ParameterPath>{kernel(0, 1)}));
  }

  void the_keys_of_specs_follow_the_selection() {
    auto* rule = tree()->findChild<QAction*>("ruleForThese");
    tree()->clearSelection();
    QVERIFY(!rule->isEnabled());
    tree()->setCurrentIndex(tree()->model()->index(0, 0));  // in
    for (QMenu* menu : window_->menuBar()->findChildren<QMenu*>()) emit menu->aboutToShow();
    QVERIFY(!rule->isEnabled());
    select({kernel(1)});
    QTest::keyClick(tree(), Qt::Key_T, Qt::ControlModifier);
    type(open_text(), "P('data', 'model')");
    tree()->setFocus();
    QTest::keyClick(tree(), Qt::Key_T, Qt::ControlModifier);
    QVERIFY((spec(kernel(1)) == PartitionSpec{{{"model"}, {"data"}}}));
    QTest::keyClick(tree(), Qt::Key_L, Qt::ControlModifier);
    QVERIFY((spec(kernel(0)) == PartitionSpec{{{"model"}, {"data"}}}));
    document().reset(made::config(), {});
    tree()->clearSelection();
    QTest::keyClick(tree(), Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(document().config().sharding.rules.empty());
  }

  void training_begins_with_what_is_typed() {
    select({kernel(0)});
    SpecField* field = window_->inspector()->spec_field();
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, "P('data', None)");
    QVERIFY(spec(kernel(0)).dims.empty());
    window_->findChild<QAction*>("train")->trigger();
    QVERIFY((spec(kernel(0)) == PartitionSpec{{{"data"}, {}}}));
    QVERIFY(field->hasFocus());
    QTRY_VERIFY_WITH_TIMEOUT(workspace().run.plan(), patience);
    QVERIFY(document_of(*workspace().run.plan()) == document().config());
  }

  void a_spec_for_all_layers_is_one_line_that_means_them_alone() {
    select({kernel(1)});
    type(open_text(), "P(None, 'model')");
    trigger("allLayers");
    for (int layer = 0; layer < layers; ++layer) {
      QVERIFY(find_parameter_spec(document().config().sharding, kernel(layer)));
      QVERIFY(
          (find_parameter_spec(document().config().sharding, kernel(layer))->spec == PartitionSpec{{{}, {"model"}}}));
      QVERIFY(!find_parameter_spec(document().config().sharding, kernel(layer, 1)));
    }
    QCOMPARE(document().config().sharding.parameters.size(), made::config().sharding.parameters.size() + 1);
    QCOMPARE(undo().count(), 2);
    undo().undo();
    undo().undo();
    QVERIFY(document().config() == made::config());
  }

  void where_a_line_before_decides_each_layer_has_a_line_of_its_own() {
    Document document;
    RunConfig config = made::config();
    config.sharding.parameters.insert(config.sharding.parameters.begin(),
                                      {{"params", "Block_2", "**", "kernel"}, {{{"data"}, {}}}});
    document.reset(config, {});
    set_in_all_layers(document, parameters(), kernel(0), {{{}, {"model"}}});
    for (int layer = 0; layer < layers; ++layer)
      QVERIFY((find_parameter_spec(document.config().sharding, kernel(layer))->spec == PartitionSpec{{{}, {"model"}}}));
    QVERIFY((find_parameter_spec(document.config().sharding, kernel(2, 1))->spec == PartitionSpec{{{"data"}, {}}}));
    QCOMPARE(document.undo_stack().count(), 1);
  }

  void a_rule_for_the_selected_arrays_has_their_names() {
    select({kernel(0), bias(0)});
    trigger("ruleForThese");
    QCOMPARE(document().config().sharding.rules.size(), size_t{1});
    QCOMPARE(document().config().sharding.rules[0].names, std::string("params/Block_0/Dense_0/**"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->findChild<RulesPanel*>()->isVisible(), patience);
  }

  void several_rules_are_edited_and_removed_in_one_step() {
    RunConfig config = made::config();
    for (const char* names : {"params/a", "params/b", "params/c", "params/d"})
      config.sharding.rules.push_back({names, PartitionSpec{}});
    document().reset(config, {});
    auto* rules = window_->findChild<RulesPanel*>();
    auto* dock = window_->findChild<QDockWidget*>("rules");
    dock->show();
    dock->raise();
    auto* model = static_cast<RulesModel*>(rules->table()->model());
    const auto pick = [&](const std::vector<size_t>& numbers) {
      rules->table()->clearSelection();
      for (const size_t number : numbers)
        rules->table()->selectionModel()->setCurrentIndex(
            model->index(model->row_of({SpecLine::Section::rules, number}), RulesModel::placement_column),
            QItemSelectionModel::Select | QItemSelectionModel::Rows);
    };
    pick({0, 2, 3});
    QVERIFY(model->setData(rules->table()->currentIndex(), "P('data')", Qt::EditRole));
    const RulePlacement data = PartitionSpec{{{"data"}}}, none = PartitionSpec{};
    const auto& now = document().config().sharding.rules;
    QVERIFY(now[0].placement == data && now[1].placement == none && now[2].placement == data &&
            now[3].placement == data);
    QCOMPARE(undo().count(), 1);
    pick({1, 3});
    for (QAction* action : rules->table()->actions())
      if (action->text() == "Remove") action->trigger();
    QCOMPARE(document().config().sharding.rules.size(), size_t{2});
    QCOMPARE(document().config().sharding.rules[1].names, std::string("params/c"));
    undo().undo();
    undo().undo();
    QVERIFY(document().config() == config);
  }
};

REGISTER_WINDOW_TEST(BatchEditsTest)

}  // namespace batch_edits_test

#include "batch_edits_test.moc"
