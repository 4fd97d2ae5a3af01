#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>
#include <map>

#include "engine/config/parse.h"
#include "engine/config/strategy.h"
#include "engine/config/write.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/window/presets.h"
#include "gui/window/tool_bar.h"
#include "gui/workspace/array_facts.h"
#include "tests/gui/cut_text.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace strategy_test {

using namespace shardscope;

// The strip of the strategy, with the real planner.
class StrategyTest : public WindowCase {
  Q_OBJECT

  static RunConfig config_of(StrategyConfig strategy) {
    return with_strategy(load_preset("llama_tiny"), std::move(strategy));
  }
  StrategyBar& bar() { return *window_->findChild<ToolBar*>("toolBar")->strategy_bar(); }
  const StrategyConfig& strategy() { return *document().config().strategy; }

 private slots:
  void initTestCase() { prepare(); }
  void init() {
    StrategyConfig strategy;
    strategy.data = 2;
    strategy.tensor = 2;
    open_window(compiled_plans(), config_of(strategy));
  }
  void cleanup() { close_window(); }

  void an_array_has_the_type_of_the_last_good_plan_where_the_newest_is_illegal() {
    RunConfig config = document().config();
    config.precision.recipe = "bf16_mixed";
    close_window();
    open_window(compiled_plans(), config);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    const ParameterRef array{planner().plan()->parameters.front().path};
    const auto type = [&] { return array_facts(window_->workspace(), array)->dtype; };
    QCOMPARE(type(), DType::bf16);
    bar().field("tensor")->setValue(3);
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy() && !planner().errors().empty(), patience);
    QCOMPARE(type(), DType::bf16);
  }

  void a_number_of_the_strip_is_an_undoable_edit_that_the_mesh_follows() {
    QTRY_VERIFY_WITH_TIMEOUT(bar().isVisible(), patience);
    const RunConfig before = document().config();
    bar().field("tensor")->setValue(4);
    QCOMPARE(strategy().tensor, int64_t{4});
    QVERIFY(document().config().mesh_axes == (std::vector<MeshAxis>{{"data", 2}, {"tensor", 4}}));
    bar().findChild<QCheckBox*>("strategy_sequence_parallel")->setChecked(true);
    QVERIFY(strategy().sequence_parallel);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    document().undo_stack().undo();
    document().undo_stack().undo();
    QVERIFY(document().config() == before);
    QCOMPARE(bar().field("tensor")->value(), 2);
  }

  void more_devices_than_a_mesh_may_have_are_a_problem_while_typing_and_on_opening() {
    bar().field("data")->setValue(40000);
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy() && !planner().errors().empty(), patience);
    QVERIFY(planner().plan() && planner().plan()->mesh.device_count() == 4);
    document().undo_stack().undo();
    StrategyConfig strategy;
    strategy.data = 65536;
    strategy.tensor = 2;
    document().reset(config_of(strategy), "/nowhere/large.json");
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy() && !planner().errors().empty(), patience);
    QVERIFY(window_->windowTitle().contains("large.json"));
    QCOMPARE(bar().field("data")->value(), 65536);
  }

  void what_a_field_takes_the_run_file_takes_too() {
    for (const QSpinBox* box : bar().findChildren<QSpinBox*>())
      for (const int number : {box->minimum(), box->maximum()}) {
        bar().findChild<QSpinBox*>(box->objectName())->setValue(number);
        const std::string text = write_run_config(document().config());
        std::vector<Error> errors;
        try {
          parse_run_config(text, {});
        } catch (const Failure& failure) {
          errors = failure.errors();
        }
        const QString place = box->objectName().replace("strategy_", "strategy.");
        QVERIFY2(errors_at(errors, place).empty(), qPrintable(place + ": " + errors_text(errors)));
        document().reset(config_of({}), {});
      }
    QCOMPARE(bar().field("zero")->maximum(), 3);
  }

  void a_number_that_the_run_file_does_not_take_is_an_error_at_its_field() {
    StrategyConfig wrong = strategy();
    wrong.zero = 7;
    set_strategy(document(), wrong, "zero");
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy() && !planner().errors().empty(), patience);
    QVERIFY2(bar().field("zero")->toolTip().contains("3"), qPrintable(bar().field("zero")->toolTip()));
    QVERIFY(!errors_at(planner().errors(), "strategy.zero").empty());
    QVERIFY(planner().plan() && planner().shared_index());
  }

  void every_field_of_the_strip_is_seen_at_any_width_data() {
    QTest::addColumn<QSize>("size");
    for (const QSize& size : {QSize(1440, 900), QSize(1024, 700), QSize(900, 600)})
      QTest::addRow("%dx%d", size.width(), size.height()) << size;
  }
  void every_field_of_the_strip_is_seen_at_any_width() {
    QFETCH(QSize, size);
    StrategyConfig large = strategy();
    large.data = large.fsdp = large.context = large.pipeline = 16384;
    for (const StrategyConfig& shown : {strategy(), large}) {
      document().reset(config_of(shown), {});
      QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy() && !workspace().findings.is_pricing(), patience);
      window_->resize(size);
      QTRY_COMPARE_WITH_TIMEOUT(window_->size(), size, patience);
      const auto cut = [&] {
        QStringList names;
        for (QWidget* part : bar().findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) {
          const auto* label = qobject_cast<QLabel*>(part);
          if (label && label->text().isEmpty()) continue;
          const QRect place(part->mapTo(window_.get(), QPoint()), part->size());
          const bool is_whole = part->isVisible() && window_->rect().contains(place) &&
                                part->visibleRegion().boundingRect() == part->rect();
          if (part->isVisibleTo(&bar()) && !is_whole)
            names << QString("%1 %2").arg(part->objectName(), label ? label->text() : QString());
        }
        return (names + CutText::of(bar()).filter(QRegularExpression("^(?!QComboBox)"))).join(' ');
      };
      QTRY_VERIFY2_WITH_TIMEOUT(cut().isEmpty(), qPrintable(cut()), patience);
      QVERIFY2(window_->minimumSizeHint().width() <= 900, "the strip bounds the width of the window");
      QWidget* last = nullptr;  // in the order of Tab, as they are seen
      for (QWidget* each = bar().nextInFocusChain(); bar().isAncestorOf(each); each = each->nextInFocusChain()) {
        if (each->parentWidget() != &bar() || !(each->focusPolicy() & Qt::TabFocus)) continue;
        QVERIFY(!last || last->y() + last->height() / 2 < each->y() || last->x() < each->x());
        last = each;
      }
    }
  }

  void a_click_left_of_the_arrows_reaches_the_number() {
    constexpr int arrows = 20;
    for (const QSpinBox* box : bar().findChildren<QSpinBox*>()) {
      const QPoint beside(box->width() - arrows, box->height() / 2);
      QVERIFY2(qobject_cast<QLineEdit*>(box->childAt(beside)), qPrintable(box->objectName()));
    }
  }

  void a_number_that_is_impossible_says_why_and_what_is_near() {
    bar().field("tensor")->setValue(3);
    QTRY_VERIFY_WITH_TIMEOUT(bar().field("tensor")->toolTip().contains("near: 1, 2, 4, 8"), patience);
    QVERIFY(bar().field("tensor")->toolTip().contains("'heads' of size 8 does not divide by 3"));
  }

  void a_degree_that_is_impossible_has_legal_ones_at_a_click_data() {
    QTest::addColumn<QString>("axis");
    for (const char* axis : {"tensor", "data"}) QTest::newRow(axis) << axis;
  }
  void a_degree_that_is_impossible_has_legal_ones_at_a_click() {
    QFETCH(QString, axis);
    const StrategyConfig before = strategy();
    bar().field(axis.toStdString())->setValue(3);
    const auto offered = [&] {
      std::map<QString, QToolButton*> buttons;
      for (QToolButton* button : window_->findChild<QWidget*>("problemStrip")->findChildren<QToolButton*>())
        if (button->isVisible() && button->text().startsWith(axis + " = ")) buttons[button->text()] = button;
      return buttons;
    };
    QTRY_VERIFY_WITH_TIMEOUT(!offered().empty(), patience);
    for (const auto& [text, button] : offered()) {
      QTRY_VERIFY_WITH_TIMEOUT(offered().contains(text), patience);
      offered()[text]->click();
      QCOMPARE(degree(strategy(), axis.toStdString()), text.section(' ', -1).toLongLong());
      QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
      QVERIFY2(planner().errors().empty(), qPrintable(text));
      document().undo_stack().undo();
      QCOMPARE(degree(strategy(), axis.toStdString()), int64_t{3});
      QTRY_VERIFY_WITH_TIMEOUT(!planner().errors().empty(), patience);
    }
    document().undo_stack().undo();
    QVERIFY(strategy() == before);
  }

  void written_out_the_plan_is_the_same_and_the_strip_goes() {
    const uint64_t hash = plan().hash;
    bar().findChild<QPushButton*>("writeOutStrategy")->click();
    QVERIFY(!document().config().strategy);
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QCOMPARE(plan().hash, hash);
    QTRY_VERIFY_WITH_TIMEOUT(!bar().isVisible(), patience);
    document().undo_stack().undo();
    QVERIFY(document().config().strategy);
    QTRY_VERIFY_WITH_TIMEOUT(bar().isVisible(), patience);
  }

  void an_edit_of_the_mesh_takes_the_strategys_place() {
    set_axis_size(document(), 0, 4);
    QVERIFY(!document().config().strategy);
    QVERIFY(document().config().mesh_axes == (std::vector<MeshAxis>{{"data", 4}, {"tensor", 2}}));
    document().undo_stack().undo();
    QCOMPARE(strategy().data, int64_t{2});
  }

  void a_mesh_becomes_a_strategy_of_the_same_sizes() {
    document().reset(load_preset("llama_tiny"), {});
    begin_strategy(document());
    QCOMPARE(strategy().data, int64_t{2});
    QCOMPARE(strategy().tensor, int64_t{2});
    QTRY_VERIFY_WITH_TIMEOUT(planner().is_current(), patience);
    QVERIFY(planner().errors().empty());
  }

  void a_strategy_of_the_menu_keeps_microbatches_and_recomputation() {
    RunConfig config = load_preset("llama_tiny");
    config.schedule.microbatches = 2;
    config.schedule.rematerialise = "attention";
    document().reset(config, {});
    auto* begin = window_->findChild<QAction*>("beginStrategy");
    begin->trigger();
    QVERIFY(!begin->isEnabled());
    QCOMPARE(strategy().recompute, std::string("selective"));
    QCOMPARE(strategy().microbatch_size, int64_t{2});
    QCOMPARE(document().config().schedule.microbatches, int64_t{2});
    QCOMPARE(document().config().schedule.rematerialise, std::string("attention"));
    document().undo_stack().undo();
    QVERIFY(begin->isEnabled());
  }

  void virtual_stages_are_of_a_pipeline() {
    QSpinBox* stages = bar().field("virtual_stages");
    QVERIFY(!stages->isEnabled());
    bar().field("pipeline")->setValue(2);
    QVERIFY(stages->isEnabled());
    stages->setValue(2);
    QCOMPARE(document().config().pipeline.chunks, int64_t{2});
    QCOMPARE(document().config().pipeline.schedule, std::string("interleaved"));
  }

  void each_schedule_that_the_list_offers_is_legal_and_each_other_one_says_why_not() {
    auto* list = bar().findChild<QComboBox*>("strategy_pipeline_schedule");
    QVERIFY(!list->isEnabled());
    bar().field("pipeline")->setValue(2);
    QVERIFY(list->isEnabled());
    int offered = 0, refused = 0;
    for (const int size : {1, 4}) {  // 4 microbatches, and one
      bar().field("microbatch_size")->setValue(size);
      for (int item = 0; item < list->count(); ++item) {
        const std::string name = list->itemData(item).toString().toStdString();
        if (!list->model()->flags(list->model()->index(item, 0)).testFlag(Qt::ItemIsEnabled)) {
          QVERIFY(list->itemText(item).size() > qsizetype(name.size()) + 2);
          ++refused;
          continue;
        }
        list->setCurrentIndex(item);
        emit list->activated(item);
        QCOMPARE(document().config().pipeline.schedule, name);
        QCOMPARE(strategy().virtual_stages, int64_t{name == "interleaved" ? 2 : 1});
        QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
        for (const Error& error : planner().errors())
          QVERIFY2(error.place.path.find("schedule") == std::string::npos, error.message.c_str());
        ++offered;
      }
    }
    QVERIFY(offered > 4 && refused > 0);
  }

  void the_order_of_the_axes_is_chosen_from_a_list_and_the_mesh_follows() {
    auto* list = bar().findChild<QComboBox*>("strategy_order");
    bar().field("pipeline")->setValue(2);
    QCOMPARE(list->count(), 6);
    for (int item = 0; item < list->count(); ++item) {
      emit list->activated(item);
      QStringList axes;
      for (const MeshAxis& axis : document().config().mesh_axes) axes << qt(axis.name);
      QCOMPARE(axes.join(", "), list->itemText(item));
      QCOMPARE(list->currentIndex(), item);
      QCOMPARE(strategy().order.empty(), item == 0);
    }
    bar().field("fsdp")->setValue(2);  // an order that is given stays complete
    QCOMPARE(strategy().order.back(), std::string("fsdp"));
    QCOMPARE(document().config().mesh_axes.size(), size_t{4});
  }

  void the_strip_shows_what_the_schedule_recomputes() {
    const auto* box = bar().findChild<QComboBox*>("strategy_recompute");
    for (const std::string& policy : recompute_policies()) QVERIFY(box->findData(qt(policy)) >= 0);
    for (const char* policy : {"mlp", "full", "**/ln1/**", "none"}) {
      set_rematerialisation(document(), policy);
      QCOMPARE(box->currentText(), QString("recompute %1").arg(policy));
    }
  }
};

REGISTER_WINDOW_TEST(StrategyTest)

}  // namespace strategy_test

#include "strategy_test.moc"
