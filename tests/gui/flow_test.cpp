#include <QAbstractItemModelTester>
#include <QStandardPaths>
#include <QTest>
#include <QThread>
#include <set>

#include "engine/base/units.h"
#include "engine/compile/document_of.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/pages/flow_canvas.h"
#include "gui/pages/flow_page.h"
#include "gui/pages/flow_words.h"
#include "gui/window/window.h"
#include "gui/workspace/array_of_value.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace flow_test {

using namespace shardscope;

// The page Flow, with the real planner.
class FlowTest : public WindowCase {
  Q_OBJECT

  FlowPage* page() { return window_->findChild<FlowPage*>(); }
  FlowCanvas* canvas() { return page()->canvas(); }
  FlowCause* cause() { return window_->findChild<FlowCause*>(); }
  template <class Widget>
  Widget* find(const char* name) {
    return page()->findChild<Widget*>(name);
  }

  void settle() {
    QTRY_VERIFY_WITH_TIMEOUT(workspace().planner.is_current(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(canvas()->plan() == workspace().planner.plan() && canvas()->is_settled(), patience);
  }

  void open(const RunConfig& config) {
    workspace().document.reset(config, {});
    settle();
  }

  // Megatron's layers, but for the output of the first product, which is wanted whole.
  static RunConfig gathering() {
    RunConfig config = made::small_gpt(3, 2, 2);
    config.sharding.mode = LayoutMode::as_written;
    config.sharding.parameters = {{{"params", "blocks", "*", "linear1", "kernel"}, {{{}, {"model"}}}}};
    config.sharding.constraints = {{"blocks/*/gelu", {{{"batch"}, {}, {}}}}};
    return config;
  }

  const FlowNode* gather_of(const std::string& part) {
    for (const FlowNode& node : canvas()->graph().nodes) {
      const Instruction& instruction = *find_step(plan(), node.steps.front());
      if (instruction.kind() == InstructionKind::all_gather && instruction.phase == Phase::forward &&
          plan().instruction_name(instruction).find(part) != std::string::npos)
        return &node;
    }
    return nullptr;
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(compiled_plans(), made::small_gpt(1, 1, 1), {1280, 800});
    QVERIFY(window_->show_page("flow"));
  }

  void cleanup() { close_window(); }

  void a_click_on_a_node_selects_its_step_and_a_step_selected_elsewhere_is_shown() {
    open(made::small_gpt(2, 2, 2));
    const FlowGraph& graph = canvas()->graph();
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, canvas()->place_of(0).center().toPoint());
    QCOMPARE(canvas()->selected(), 0);
    QCOMPARE(workspace().selection.step(), std::optional(graph.nodes[0].steps.front()));
    const int last = int(graph.nodes.size()) - 1;
    workspace().selection.select_step(graph.nodes[size_t(last)].steps.back());
    QCOMPARE(canvas()->selected(), last);
    QVERIFY(QRectF(canvas()->rect()).contains(canvas()->place_of(last).center()));
  }

  void what_is_selected_stays_in_view_when_its_cause_takes_room() {
    open(made::small_gpt(2, 2, 2));
    const auto& nodes = canvas()->graph().nodes;
    for (size_t node = 0; node < nodes.size(); ++node) {
      if (!is_communication(nodes[node].kind)) continue;
      workspace().selection.select_step(nodes.back().steps.front());
      workspace().selection.select_step(nodes[node].steps.front());
      QTest::qWait(0);
      const QRectF place = canvas()->place_of(int(node));
      QVERIFY2(QRectF(canvas()->rect()).contains(place.center()), qPrintable(QString::number(node)));
    }
  }

  void keys_walk_from_node_to_node_and_from_collective_to_collective() {
    open(made::small_gpt(2, 2, 2));
    QTest::keyClick(canvas(), Qt::Key_Right);
    const int first = canvas()->selected();
    QVERIFY(first >= 0);
    QTest::keyClick(canvas(), Qt::Key_Right);
    QVERIFY(canvas()->place_of(canvas()->selected()).left() > canvas()->place_of(first).left());
    int collectives = 0;
    for (const FlowNode& node : canvas()->graph().nodes) collectives += is_communication(node.kind);
    QVERIFY(collectives > 2);
    std::set<int> visited;
    for (int i = 0; i < collectives; ++i) {
      QTest::keyClick(canvas(), Qt::Key_C);
      visited.insert(canvas()->selected());
      QVERIFY(is_communication(canvas()->graph().nodes[size_t(canvas()->selected())].kind));
    }
    QCOMPARE(int(visited.size()), collectives);
    const int at = canvas()->selected();
    QTest::keyClick(canvas(), Qt::Key_C);
    QTest::keyClick(canvas(), Qt::Key_C, Qt::ShiftModifier);
    QCOMPARE(canvas()->selected(), at);
    workspace().selection.select_array({});
    QTest::keyClick(canvas(), Qt::Key_Return);
    QVERIFY(is_array(workspace().selection.array()));
  }

  void a_search_finds_what_has_all_its_words_and_return_goes_from_one_to_the_next() {
    open(made::small_gpt(2, 2, 2));
    canvas()->setFocus();
    QTest::keyClick(canvas(), Qt::Key_Slash);
    auto* search = find<QLineEdit>("flowSearch");
    QTRY_VERIFY_WITH_TIMEOUT(search->hasFocus(), patience);
    QTest::keyClicks(search, "LINEAR1 einsum");
    const int count = canvas()->found_count();
    QVERIFY(count > 1 && count < int(canvas()->graph().nodes.size()));
    std::set<int> seen;
    for (int i = 0; i < count; ++i) {
      QTest::keyClick(search, Qt::Key_Return);
      seen.insert(canvas()->selected());
      QVERIFY(canvas()->found_at() >= 0);
    }
    QCOMPARE(int(seen.size()), count);
    QVERIFY(find<QLabel>("flowFound")->text().contains(QString::number(count)));
    search->setText("no such thing");
    QCOMPARE(canvas()->found_count(), 0);
    search->clear();
    QVERIFY(find<QLabel>("flowFound")->text().isEmpty());
  }

  void a_lane_of_many_layers_says_how_many_they_are() {
    open(made::small_gpt(50, 2, 2));
    const auto graph = std::make_shared<const FlowGraph>(canvas()->graph());
    const FlowWords words = flow_words(canvas()->plan(), graph);
    QStringList titles;
    for (const FlowLane& lane : graph->lanes) titles << words.lane(lane);
    QVERIFY2(!titles.filter(QString("layers 0\u201349 \u00d7 50")).isEmpty(), qPrintable(titles.join('\n')));
  }

  void an_edge_tells_the_layout_and_a_collective_what_it_moves_for_whom_and_how_long() {
    open(gathering());
    const FlowGraph& graph = canvas()->graph();
    const FlowWords words = flow_words(canvas()->plan(), std::make_shared<const FlowGraph>(graph));
    const FlowNode* gather = gather_of("gelu");
    QVERIFY(gather || (gather = gather_of("linear1")));
    const int node = int(gather - graph.nodes.data());
    int into = 0, out = 0;
    for (const FlowEdge& edge : graph.edges) {
      const QString layout = words.layout(edge.value);
      if (edge.to == node) {
        ++into;
        QVERIFY2(layout.contains("model"), qPrintable(layout));
      } else if (edge.from == node) {
        ++out;
        QVERIFY2(layout.contains("batch") && !layout.contains("model"), qPrintable(layout));
      }
    }
    QVERIFY(into > 0 && out > 0);
    QStringList moved;
    for (const FlowNode& other : graph.nodes)
      if (is_communication(other.kind)) moved << words.node(other).title + ": " + words.node(other).detail;
    for (const char* expected : {"all-gather over model: 0/gelu \u2192 0/gelu",
                                 "all-gather over model: linear1/bias and 2 more \u2192 bias/adam",
                                 "all-reduce over batch: loss/cross_entropy:1 and 1 more \u2192 loss/cross_entropy"})
      QVERIFY2(moved.contains(expected), qPrintable(moved.join('\n')));
    const FlowNodeText text = words.node(*gather);
    const double once = plan().instruction_seconds[gather->steps.front()];
    QCOMPARE(gather->steps.size(), size_t{3});
    QCOMPARE(text.cost, QString::fromStdString(seconds_text(3 * once)));
  }

  void a_lane_says_what_sets_its_layers_apart_where_they_are_not_alike() {
    RunConfig config = made::small_gpt(6, 2, 2);
    config.sharding.parameters.push_back({{"params", "blocks", "3", "linear1", "kernel"}, PartitionSpec{{{}, {}}}});
    open(config);
    const FlowGraph& graph = canvas()->graph();
    QStringList tips;
    for (int l = 0; l < std::ssize(graph.lanes); ++l)
      if (graph.lanes[l].layers == std::vector{3}) tips << lane_tip(*canvas()->plan(), graph, l);
    QVERIFY(!tips.filter("first unlike layers").isEmpty());
    for (const QString& tip : tips) QVERIFY2(tip.split('\n').size() > 2, qPrintable(tip));
  }

  void layers_unfold_and_the_list_is_another_view_of_the_same() {
    const QAbstractItemModelTester tester(page()->list()->model());
    open(made::small_gpt(6, 2, 2));
    const size_t folded = canvas()->graph().nodes.size();
    find<QCheckBox>("flowFold")->click();
    QTRY_VERIFY_WITH_TIMEOUT(canvas()->is_settled(), patience);
    QVERIFY(canvas()->graph().nodes.size() > 2 * folded);
    find<QToolButton>("flowAsList")->click();
    QVERIFY(page()->list()->isVisible() && !canvas()->isVisible());
    find<QToolButton>("flowAsGraph")->click();
    QTRY_VERIFY_WITH_TIMEOUT(canvas()->isVisible() && canvas()->is_settled(), patience);
  }

  void zooming_keeps_what_is_under_the_cursor_and_home_shows_all() {
    open(made::small_gpt(2, 2, 2));
    const int node =
        node_at(canvas()->graph(), canvas()->graph().nodes[4].place.x + 1, canvas()->graph().nodes[4].place.y + 1);
    const QPointF at = canvas()->place_of(node).center();
    QWheelEvent wheel(at, canvas()->mapToGlobal(at), {}, {0, 120}, {}, Qt::NoModifier, Qt::NoScrollPhase, false);
    const double before = canvas()->scale();
    QApplication::sendEvent(canvas(), &wheel);
    QVERIFY(canvas()->scale() > before);
    QVERIFY((canvas()->place_of(node).center() - at).manhattanLength() < 1);
    QTest::keyClick(canvas(), Qt::Key_Home);
    for (size_t n = 0; n < canvas()->graph().nodes.size(); ++n)
      QVERIFY(QRectF(canvas()->rect()).adjusted(-1, -1, 1, 1).contains(canvas()->place_of(int(n))));
  }

  void a_double_click_shows_all_and_chooses_no_other_node() {
    open(made::small_gpt(2, 2, 2));
    const int count = int(canvas()->graph().nodes.size());
    QTest::keyClick(canvas(), Qt::Key_Home);
    std::vector<QPoint> centers;
    for (int n = 0; n < count; ++n) centers.push_back(canvas()->place_of(n).center().toPoint());
    for (int i = 0; i < 12; ++i) QTest::keyClick(canvas(), Qt::Key_Plus);
    const auto is_free = [&](const QPoint& point) {
      for (int n = 0; n < count; ++n)
        if (canvas()->place_of(n).contains(point)) return false;
      return true;
    };
    const auto at = std::ranges::find_if(centers, is_free);
    QVERIFY(at != centers.end());
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, *at);
    QTest::mouseDClick(canvas(), Qt::LeftButton, {}, *at);
    QTest::mouseRelease(canvas(), Qt::LeftButton, {}, *at);
    QCOMPARE(canvas()->selected(), -1);
    QTest::mouseClick(canvas(), Qt::RightButton, {}, *at);
    QCOMPARE(canvas()->selected(), -1);
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, *at);
    QVERIFY(canvas()->selected() >= 0);
  }

  // The graph of the plan before is seen until the new one is made.
  void nodes_of_the_plan_before_name_no_array_of_the_new_one() {
    open(made::small_gpt(4, 2, 2));
    const FlowGraph graph = canvas()->graph();
    int reported = 0;
    const auto connection = connect(&planner(), &Planner::delivered, this, [&] {
      if (canvas()->plan() == planner().plan()) return;
      for (const FlowNode& node : graph.nodes) {
        selection().select_array({});
        selection().select_step(node.steps.front());
        QTest::keyClick(canvas(), Qt::Key_Return);
        QVERIFY(!is_array(selection().array()));
        ++reported;
      }
    });
    set_option(document(), OptionGroup::model, "num_layers", int64_t{1});
    settle();
    disconnect(connection);
    QVERIFY(reported > 0);
  }

  void every_candidate_edit_changes_one_spec_and_nothing_else() {
    open(gathering());
    const FlowNode* gather = gather_of("gelu");
    QVERIFY(gather || (gather = gather_of("linear1")));
    const std::vector<SpecEdit> edits = candidate_edits(plan(), gather->steps);
    const RunConfig file = document_of(plan());
    QVERIFY(edits.size() > 3);
    std::set<QString> texts;
    for (const SpecEdit& edit : edits) {
      QVERIFY2(texts.insert(edit.text).second, qPrintable(edit.text));
      QVERIFY(edit.config != file);
      RunConfig same = edit.config;
      same.sharding = file.sharding;
      QVERIFY(same == file);
      const ShardingConfig &now = file.sharding, &then = edit.config.sharding;
      const int changed = (now.in != then.in) + (now.out != then.out) + (now.parameters != then.parameters) +
                          (now.constraints != then.constraints) + (now.rules != then.rules) + (now.zero != then.zero);
      QCOMPARE(changed, 1);
    }
  }

  void the_edit_that_is_offered_makes_the_reshard_needless_and_is_one_step_of_undo() {
    open(gathering());
    const FlowNode* gather = gather_of("gelu");
    QVERIFY(gather || (gather = gather_of("linear1")));
    const std::vector<StepRef> steps = gather->steps;
    QCOMPARE(steps.size(), size_t{3});
    const std::shared_ptr<const Plan> before = workspace().planner.plan();
    workspace().selection.select_step(steps.front());
    QVERIFY(cause()->isVisible());
    QVERIFY(!find<QLabel>("causeText")->text().isEmpty());
    QTest::mouseClick(find<QPushButton>("findEdit"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(cause()->result().has_value(), patience);
    const EditSearch found = *cause()->result();
    QVERIFY2(!found.removing.empty(), qPrintable(QString("%1 candidates").arg(found.candidates)));
    QVERIFY(std::ssize(found.removing) <= found.candidates);
    const auto* list = find<QTreeWidget>("foundEdits");
    QCOMPARE(list->topLevelItemCount(), static_cast<int>(found.removing.size()));
    for (int row = 0; row < list->topLevelItemCount(); ++row) {
      const auto& [edit, totals] = found.removing[static_cast<size_t>(row)];
      QCOMPARE(list->topLevelItem(row)->text(0), edit.text);
      QVERIFY(list->topLevelItem(row)->text(1).startsWith(qt(seconds_text(totals.seconds_per_step))));
      QVERIFY(row == 0 ||
              totals.seconds_per_step >= found.removing[static_cast<size_t>(row) - 1].totals.seconds_per_step);
    }
    QTest::mouseClick(find<QPushButton>("applyEdit"), Qt::LeftButton);
    settle();
    QVERIFY(workspace().document.config() == found.removing.front().edit.config);
    QCOMPARE(plan().totals.seconds_per_step, found.removing.front().totals.seconds_per_step);
    QVERIFY(!still_moves(plan(), *before, steps));
    QVERIFY(still_moves(*before, *before, steps));
    QCOMPARE(workspace().document.undo_stack().count(), 1);
    workspace().document.undo_stack().undo();
    settle();
    QVERIFY(workspace().document.config() == gathering());
  }

  void no_candidate_that_avoids_it_is_cheaper_than_the_one_offered() {
    open(gathering());
    const FlowNode* gather = gather_of("gelu");
    QVERIFY(gather || (gather = gather_of("linear1")));
    EditProgress progress;
    const EditSearch found = find_edit(compiled_plans(), plan(), gather->steps, {}, progress);
    QCOMPARE(progress.planned.load(), found.candidates);
    QCOMPARE(progress.candidates.load(), found.candidates);
    QVERIFY(!found.removing.empty());
    for (const SpecEdit& edit : candidate_edits(plan(), gather->steps)) {
      try {
        const Plan other = compiled_plans().plan(edit.config, {});
        if (!still_moves(other, plan(), gather->steps))
          QVERIFY(found.removing.front().totals.seconds_per_step <= other.totals.seconds_per_step);
      } catch (const Failure&) {
      }
    }
  }

  // No `out`: logits are whole on every device.
  void gathered_logits_are_decided_by_the_output_and_its_spec_avoids_them() {
    RunConfig config = made::small_gpt(2, 4, 1);
    config.sharding.out.dims.clear();
    for (const LayoutMode mode : {LayoutMode::as_written, LayoutMode::fastest}) {
      config.sharding.mode = mode;
      open(config);
      const FlowNode* gather = gather_of("head");
      QVERIFY(gather);
      workspace().selection.select_step(gather->steps.front());
      const QString text = find<QLabel>("causeText")->text();
      QVERIFY2(
          text.startsWith("sharding.out wants ") && text.contains("Decided by sharding.out (not given), sharding.in"),
          qPrintable(text));
      EditProgress progress;
      const EditSearch found = find_edit(compiled_plans(), plan(), gather->steps, {}, progress);
      QVERIFY(!found.removing.empty());
      QCOMPARE(found.removing.front().edit.places, std::vector<std::string>{"sharding.out"});
      QCOMPARE(found.removing.front().edit.text, QString("out = P('batch', None, None)"));
    }
  }

  void a_search_can_be_cancelled_and_an_edit_ends_it() {
    const auto slow = std::make_shared<std::atomic<bool>>(false);  // the window lives longer
    PlanSource source = compiled_plans();
    source.plan = [slow, plan = source.plan](const RunConfig& config, std::stop_token stop) {
      while (*slow && !stop.stop_requested()) QThread::msleep(1);
      if (stop.stop_requested()) throw Cancelled();
      return plan(config, stop);
    };
    window_ = std::make_unique<MainWindow>(source, "/nowhere/shardrun");
    window_->show();
    QVERIFY(window_->show_page("flow"));
    open(gathering());
    const FlowNode* gather = gather_of("gelu");
    QVERIFY(gather || (gather = gather_of("linear1")));
    workspace().selection.select_step(gather->steps.front());
    *slow = true;
    find<QPushButton>("findEdit")->click();
    QVERIFY(cause()->is_searching());
    QVERIFY(find<QPushButton>("cancelEdit")->isVisible());
    find<QPushButton>("cancelEdit")->click();
    QVERIFY(!cause()->is_searching() && !cause()->result());
    find<QPushButton>("findEdit")->click();
    QVERIFY(cause()->is_searching());
    set_steps(workspace().document, 7);
    QVERIFY(!cause()->is_searching());
    *slow = false;
    settle();
    QVERIFY(!cause()->result());
  }

  void what_is_moved_belongs_to_an_array_that_can_be_selected() {
    open(made::small_gpt(2, 2, 2));
    int known = 0, all = 0;
    for (const StepRef id : workspace().planner.index().collectives) {
      ++all;
      known += is_array(array_of_value(workspace().planner, plan(), moved_value(plan(), *find_step(plan(), id))));
    }
    QVERIFY2(known * 10 >= all * 8, qPrintable(QString("%1 of %2").arg(known).arg(all)));
  }
};

REGISTER_WINDOW_TEST(FlowTest)

}  // namespace flow_test

#include "flow_test.moc"
