#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QStandardPaths>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>
#include <algorithm>
#include <set>
#include <tuple>

#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/hidden_transfers.h"
#include "engine/session/hello.h"
#include "gui/look/appearance.h"
#include "gui/pages/timeline_canvas.h"
#include "gui/pages/timeline_page.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "tests/gui/made_plan.h"
#include "tests/gui/small_models.h"
#include "tests/gui/window_case.h"
#include "tests/test_program.h"

namespace timeline_test {

using namespace shardscope;

namespace {

constexpr int late_rank = 5;
constexpr int64_t ms = 1'000'000;

// Eight ranks that gather, look up (the late one thrice as long), reduce over data and update. A start takes no time.
TraceMessage trace_of(const Plan& plan, TraceChoice choice, int64_t step, int64_t lookup_ms) {
  TraceMessage trace{choice, step, std::vector<std::vector<PlanStepTime>>(8)};
  std::vector<int64_t> now(8, 0);
  const SequenceInstructions steps = plan.instructions();
  for (int position = 0; position < steps.size(); ++position) {
    const AxisList& axes = steps[steps.start_of(position)].axes();
    std::vector<int64_t> start = now;
    for (int rank = 0; rank < 8; ++rank)
      if (steps[position].as<CollectiveDone>())
        for (const int peer : plan.mesh.group(rank, {axes.begin(), axes.end()}))
          start[size_t(rank)] = std::max(start[size_t(rank)], now[size_t(peer)]);
    for (int rank = 0; rank < 8; ++rank) {
      const int64_t work = position == 2                           ? lookup_ms * ms * (rank == late_rank ? 3 : 1)
                           : is_collective(steps[position].kind()) ? 0
                                                                   : 2 * ms;
      const int64_t end = start[size_t(rank)] + work;
      trace.ranks[size_t(rank)].push_back({now[size_t(rank)], start[size_t(rank)], end});
      now[size_t(rank)] = end;
    }
  }
  return trace;
}

}  // namespace

// The page Timeline: every rank of a recorded step, measured, searched and walked by the keyboard.
class TimelineTest : public WindowCase {
  Q_OBJECT

  TimelinePage* page() { return window_->findChild<TimelinePage*>(); }
  TimelineCanvas* canvas() { return page()->canvas(); }
  QString facts() { return page()->findChild<QLabel*>("timelineFacts")->text(); }

  void run_three_steps() {
    RunControl& run = workspace().run;
    HelloMessage hello;
    hello.plan_hash = plan().hash;
    hello.ranks = 8;
    hello.plan_steps = plan_step_names(plan());
    run.begin_replay(workspace().planner.plan());
    run.receive(hello);
    run.receive(trace_of(plan(), TraceChoice::latest, 7, 10));
    run.receive(trace_of(plan(), TraceChoice::slowest, 3, 30));
    run.receive(trace_of(plan(), TraceChoice::median, 5, 20));
    QTRY_VERIFY_WITH_TIMEOUT(page()->is_settled() && canvas()->rows().size() == 10, patience);
  }

  // Inside the slice of a plan step, in widget coordinates.
  QPoint point_of(size_t row, int position) {
    const TimelineTrack& track = *canvas()->rows()[row].track;
    const TrackSlice& slice = track.slices()[size_t(track.slices_of(position).second) - 1];
    const QRectF place = canvas()->row_place(row);
    const double middle = (slice.start + slice.end) / 2 - canvas()->begin();
    return QPointF(place.x() + middle / (canvas()->end() - canvas()->begin()) * place.width(), place.center().y())
        .toPoint();
  }

 private slots:
  void initTestCase() { prepare(); }

  void init() {
    open_window(made::source(), made::config(), {1280, 900});
    QVERIFY(window_->show_page("timeline"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled(), patience);
  }

  void cleanup() { close_window(); }

  void before_a_run_there_is_the_prediction_and_what_to_do() {
    QCOMPARE(canvas()->rows().size(), size_t{2});
    QVERIFY(canvas()->rows()[0].rank == -1 && canvas()->rows()[0].is_of_time() && canvas()->rows()[1].is_memory);
    QVERIFY2(facts().contains("Train"), qPrintable(facts()));
    QVERIFY(!page()->findChild<QComboBox*>("timelineStep")->isVisible());
  }

  // On its lane and on the stage's own row alike.
  void a_click_on_exposed_communication_says_what_it_waits_for_and_what_would_hide_it() {
    RunConfig config = load_preset("llama_tiny");
    config.sharding.mode = LayoutMode::as_written;
    config.machine = machine_choice("dgx_h100");
    config.stack = "\"megatron\"";
    open_window(compiled_plans(), config, {1280, 900});
    QVERIFY(window_->show_page("timeline"));
    QTRY_VERIFY_WITH_TIMEOUT(page()->is_settled() && canvas()->rows().size() > 1, patience);
    size_t lane = 0;
    while (lane < canvas()->rows().size() && canvas()->rows()[lane].stream != "nvlink (blocking)") ++lane;
    QVERIFY(lane < canvas()->rows().size());
    const auto length = [](const TrackSlice& slice) {
      return slice.part == TimePart::transfer ? slice.end - slice.start : 0;
    };
    const TrackSlice exposed = std::ranges::max(canvas()->rows()[lane].track->slices(), {}, length);
    QVERIFY(length(exposed) > 0);
    canvas()->show_window(exposed.start - length(exposed), exposed.end + length(exposed));
    const int done = plan().instructions().done_of(exposed.step);
    for (const auto& [row, position] : {std::pair(size_t{0}, done), {lane, int(exposed.step)}}) {
      QTest::mouseClick(canvas(), Qt::LeftButton, {}, point_of(row, position));
      QVERIFY2(facts().contains("The device waits"), qPrintable(facts()));
      QVERIFY2(facts().contains("would hide"), qPrintable(facts()));
    }
  }

  void the_stage_of_the_selected_device_is_marked_and_seen() {
    open_window(compiled_plans(), made::piped_gpt(4, 2, 1, 4), {1280, 900});
    QVERIFY(window_->show_page("timeline"));
    QTRY_VERIFY_WITH_TIMEOUT(page()->is_settled() && canvas()->rows().size() == 4, patience);
    selection().select_device(3);
    QVERIFY(plan().stage_of(3) == 1);
    QCOMPARE(canvas()->title(2), QString("device 3, stage 1"));
    QCOMPARE(canvas()->title(0), QString("predicted, stage 0"));
  }

  void the_lanes_of_a_device_on_request_have_the_slices_of_its_stage() {
    const auto slices_of = [](const TimelineRow& row) {
      std::vector<std::tuple<double, double, int, TimePart>> slices;
      for (const TrackSlice& slice : row.track->slices())
        slices.emplace_back(slice.start, slice.end, slice.step, slice.part);
      return slices;
    };
    std::vector<RunConfig> configs;
    for (const QString& preset : preset_names()) {
      RunConfig& here = configs.emplace_back(load_preset(preset));
      here.sharding.mode = LayoutMode::as_written;
      RunConfig there = here;
      there.machine = machine_choice("dgx_h100");
      there.stack = "\"megatron\"";
      configs.push_back(there);
    }
    for (const RunConfig& config : configs) {
      const auto plan = std::make_shared<const Plan>(compiled_plans().plan(config, {}));
      const auto stages = std::make_shared<const std::vector<PredictedStep>>(predicted_steps(*plan));
      TimelineCanvas drawn(workspace());
      drawn.show_prediction({plan, stages, timeline_colors(*plan, TimelineColoring::kind, theme())});
      const size_t before = drawn.rows().size();
      const int last = plan->mesh.device_count() - 1;
      const std::set<int> devices{0, last / 2, last};
      drawn.set_devices({devices.begin(), devices.end()});
      for (const int device : devices) {
        std::vector<TimelineRow> own, of_stage;
        for (const TimelineRow& row : drawn.rows()) {
          if (row.device == device) own.push_back(row);
          if (row.device < 0 && row.stage == plan->stage_of(device)) of_stage.push_back(row);
        }
        QVERIFY(!own.empty() && own.size() == of_stage.size());
        for (size_t lane = 0; lane < own.size(); ++lane) {
          QCOMPARE(own[lane].stage, plan->stage_of(device));
          QCOMPARE(own[lane].stream, of_stage[lane].stream);
          QVERIFY(slices_of(own[lane]) == slices_of(of_stage[lane]));
        }
      }
      drawn.set_devices({});
      QCOMPARE(drawn.rows().size(), before);
    }
  }

  void a_device_has_lanes_while_it_is_asked_for_by_field_or_key() {
    open_window(compiled_plans(), made::piped_gpt(4, 2, 1, 4), {1280, 900});
    QVERIFY(window_->show_page("timeline"));
    QTRY_VERIFY_WITH_TIMEOUT(page()->is_settled() && canvas()->rows().size() == 4, patience);
    auto* field = page()->findChild<QLineEdit*>("timelineDevices");
    canvas()->setFocus();
    QTest::keyClick(canvas(), Qt::Key_L);
    QVERIFY(field->hasFocus());
    QTest::keyClicks(field, "3, 99");
    QCOMPARE(canvas()->rows().size(), size_t{6});
    QCOMPARE(canvas()->title(4), QString("device 3, stage 1"));
    QCOMPARE(canvas()->title(5), QString("memory, device 3"));
    QTest::keyClicks(field, " x");
    QTest::keyClick(field, Qt::Key_Return);
    QCOMPARE(field->text(), QString("3, 99"));
    canvas()->setFocus();
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, point_of(4, 0));
    QCOMPARE(selection().device(), std::optional(3));
    selection().select_device(2);
    QTest::keyClick(canvas(), Qt::Key_L);
    QCOMPARE(canvas()->rows().size(), size_t{8});
    QCOMPARE(canvas()->title(6), QString("device 2, stage 0"));
    const QString measured_range = [&] {
      QTest::keyClick(canvas(), Qt::Key_M);
      return facts();
    }();
    QTest::keyClick(canvas(), Qt::Key_L);
    QCOMPARE(canvas()->rows().size(), size_t{6});
    QCOMPARE(facts(), measured_range);
    TimelinePage pictured(workspace());
    pictured.begin_picture(page());
    QCOMPARE(pictured.canvas()->devices(), canvas()->devices());
  }

  void a_tip_says_what_the_stack_hides_behind_which_pass_and_where_the_rest_is() {
    RunConfig config = load_preset("tiny_lm_dp");
    config.sharding.mode = LayoutMode::as_written;
    config.machine = machine_choice("dgx_h100");
    for (const bool is_long : {false, true}) {
      config.stack = R"({"name": "megatron", "overlap": {"gradients": true}})";
      if (is_long) config.machine = R"({"name": "dgx_h100", "levels": {"nvlink": {"bytes_per_second": 1e6}}})";
      const Plan plan = compiled_plans().plan(config, {});
      const PredictedStep predicted = predicted_steps(plan).front();
      const std::vector<HiddenTransfer> hidden = transfers_behind_passes(plan, 0);
      QVERIFY(!hidden.empty());
      const auto place = [&](const PredictedStep::Stream& lane) {
        return lane.track.slices_of(hidden.back().position);
      };
      const auto lane = std::ranges::find_if(
          predicted.streams, [&](const PredictedStep::Stream& one) { return place(one).first < place(one).second; });
      QVERIFY(lane != predicted.streams.end());
      const int first = place(*lane).first;
      const TimelineRow row{-1, 0,         &lane->track, QString::fromStdString(lane->name), lane->is_behind_passes,
                            -1, &predicted};
      const QString tip = slice_tip(workspace(), plan, nullptr, row, first);
      QVERIFY2(tip.contains("megatron hides"), qPrintable(tip));
      QVERIFY2(tip.contains(is_long ? "is in the update" : "all of it"), qPrintable(tip));
    }
  }

  void memory_beneath_a_stage_says_what_is_held_of_what_a_device_has() {
    for (const bool fits : {true, false}) {
      RunConfig config = load_preset("llama_tiny");
      config.sharding.mode = LayoutMode::as_written;
      config.machine =
          fits ? machine_choice("dgx_h100") : R"({"name": "dgx_h100", "device": {"memory_bytes": 1000000}})";
      config.stack = "\"megatron\"";
      open_window(compiled_plans(), config, {1280, 900});
      QVERIFY(window_->show_page("timeline"));
      QTRY_VERIFY_WITH_TIMEOUT(page()->is_settled() && canvas()->rows().size() > 1, patience);
      const size_t row = canvas()->rows().size() - 1;
      QVERIFY(canvas()->rows()[row].is_memory);
      const QString held = QString::fromStdString(bytes_text(double(plan().totals.device_bytes)));
      QVERIFY2(canvas()->detail(row).startsWith(held + " of "), qPrintable(canvas()->detail(row) + ", not " + held));
      const QImage image = canvas()->grab().toImage();
      const QRectF place = canvas()->row_place(row);
      bool is_marked = false;
      for (int y = int(place.top()); y < int(place.bottom()); ++y)
        is_marked |= image.pixelColor(int(place.center().x()), y) == theme().error;
      QCOMPARE(is_marked, !fits);
      QTest::mouseClick(canvas(), Qt::LeftButton, {}, point_of(row, 5));
      QCOMPARE(workspace().selection.step(), std::optional(step_at(plan(), 5)));
    }
  }

  void every_rank_has_a_row_of_the_step_that_is_chosen() {
    run_three_steps();
    auto* choice = page()->findChild<QComboBox*>("timelineStep");
    QVERIFY(choice->isVisible());
    const std::vector<std::pair<TraceChoice, int64_t>> lookups{
        {TraceChoice::median, 20}, {TraceChoice::slowest, 30}, {TraceChoice::latest, 10}};
    for (const auto& [wanted, lookup] : lookups) {
      choice->setCurrentIndex(choice->findData(int(wanted)));
      QTRY_VERIFY_WITH_TIMEOUT(page()->is_settled(), patience);
      QCOMPARE(canvas()->rows().size(), size_t{10});
      const double longest = double(2 + 3 * lookup + 2 + 2) * 1e-3;
      QVERIFY(std::abs(canvas()->seconds() - std::max(longest, predicted_steps(plan()).front().seconds)) < 1e-9);
      for (size_t row = 2; row < 10; ++row) QCOMPARE(canvas()->rows()[row].rank, int(row) - 2);
    }
    // Of another plan no rank is shown.
    set_axis_size(workspace().document, 0, 2);
    QTRY_VERIFY_WITH_TIMEOUT(!workspace().planner.is_busy() && canvas()->rows().size() == 2, patience);
  }

  void folded_ranks_are_the_one_that_waits_least_and_the_one_that_waits_most() {
    run_three_steps();
    page()->findChild<QToolButton*>("timelineFold")->click();
    QCOMPARE(canvas()->rows().size(), size_t{4});
    QVERIFY(canvas()->rows()[2].rank == late_rank || canvas()->rows()[3].rank == late_rank);
  }

  void a_click_selects_step_and_rank_and_the_late_rank_is_named() {
    run_three_steps();
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, point_of(3, 4));
    QCOMPARE(workspace().selection.device(), std::optional(1));
    QCOMPARE(workspace().selection.step(), std::optional(step_at(plan(), 3)));
    QVERIFY2(facts().contains(QString("Rank %1 came last of 4").arg(late_rank)), qPrintable(facts()));
    QVERIFY2(facts().contains("waited 40"), qPrintable(facts()));
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, point_of(2, 2));
    QCOMPARE(workspace().selection.device(), std::optional(0));
    QCOMPARE(workspace().selection.step(), std::optional(step_at(plan(), 2)));
    workspace().selection.select_step(std::nullopt);
    QVERIFY2(!facts().contains("rank"), qPrintable(facts()));
  }

  void a_measured_step_corrects_the_machine_of_the_document_as_one_step_of_undo() {
    Machine machine = reference_host();
    machine.device.instruction_latency = 0;
    RunConfig config = made::small_gpt(1, 2, 1);
    config.machine = machine_choice(machine);
    close_window();
    open_window(compiled_plans(), config, {1280, 900});
    QVERIFY(window_->show_page("timeline"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->is_settled() && workspace().planner.is_current(), patience);
    auto* button = page()->findChild<QToolButton*>("timelineCorrect");
    QVERIFY(!button->isVisible());
    TraceMessage trace{TraceChoice::median, 1, std::vector<std::vector<PlanStepTime>>(2)};
    for (std::vector<PlanStepTime>& times : trace.ranks) {
      int64_t now = 0;
      for (int position = 0; position < plan().instructions().size(); ++position) {
        const int64_t end = now + std::llround(2e9 * plan().seconds(position));
        times.push_back({now, now, end});
        now = end;
      }
    }
    workspace().run.begin_replay(workspace().planner.plan());
    workspace().run.receive(hello_of(plan()));
    workspace().run.receive(trace);
    QTRY_VERIFY_WITH_TIMEOUT(page()->is_settled() && button->isVisible(), patience);
    button->click();
    auto* box = page()->findChild<QMessageBox*>("machineCorrection");
    QVERIFY2(box && box->text().contains("matrix products in f32: 2 times as long"),
             box ? qPrintable(box->text()) : "");
    for (QAbstractButton* choice : box->buttons())
      if (box->buttonRole(choice) == QMessageBox::AcceptRole) choice->click();
    QVERIFY(document().config().machine != config.machine);
    QTRY_VERIFY_WITH_TIMEOUT(workspace().planner.is_current(), patience);
    const double now = plan().machine.device.products.at(Precision::f32).flops_per_second;
    QVERIFY(std::abs(now * 2 / machine.device.products.at(Precision::f32).flops_per_second - 1) < 0.01);
    document().undo_stack().undo();
    QCOMPARE(document().config().machine, config.machine);
  }

  // Press, release, the double click, and its release: under the pointer is then another step.
  void a_double_click_shows_all_and_chooses_no_other_step() {
    run_three_steps();
    const TrackSlice& last = canvas()->rows()[3].track->slices().back();
    canvas()->show_window(last.start - 1e-3, last.end + 1e-3);
    const QPoint at(int(canvas()->row_place(3).left() + canvas()->row_place(3).width() * 0.4), point_of(3, 3).y());
    QTest::mouseClick(canvas(), Qt::LeftButton, {}, at);
    const std::optional<StepRef> chosen = selection().step();
    QVERIFY(chosen);
    QTest::mouseDClick(canvas(), Qt::LeftButton, {}, at);
    QTest::mouseRelease(canvas(), Qt::LeftButton, {}, at);
    QCOMPARE(canvas()->end() - canvas()->begin(), canvas()->seconds());
    QCOMPARE(selection().step(), chosen);
  }

  void a_drag_with_shift_or_the_tool_measures_a_range() {
    run_three_steps();
    const QRectF place = canvas()->row_place(2);
    const QPoint from = place.center().toPoint(), to = from + QPoint(100, 0);
    const double expected = 100 / place.width() * canvas()->seconds();
    const auto drag = [&](Qt::KeyboardModifiers modifiers) {
      QTest::mousePress(canvas(), Qt::LeftButton, modifiers, from);
      QMouseEvent move(QEvent::MouseMove, to, canvas()->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, modifiers);
      QApplication::sendEvent(canvas(), &move);
      QTest::mouseRelease(canvas(), Qt::LeftButton, modifiers, to);
    };
    drag(Qt::ShiftModifier);
    QVERIFY(canvas()->range());
    QVERIFY(std::abs(canvas()->range()->second - canvas()->range()->first - expected) < expected / 100);
    for (const char* part : {"8 rows", "local work", "waiting"}) QVERIFY2(facts().contains(part), qPrintable(facts()));
    QTest::keyClick(canvas(), Qt::Key_Escape);
    QVERIFY(!canvas()->range());
    page()->findChild<QToolButton*>("timelineMeasure")->click();
    drag({});
    QVERIFY(canvas()->range());
    canvas()->set_range(std::nullopt);
    page()->findChild<QToolButton*>("timelineMeasure")->click();
    drag({});
    QVERIFY(!canvas()->range());  // pans
  }

  void keys_zoom_pan_fit_and_mark() {
    run_three_steps();
    canvas()->setFocus();
    const double all = canvas()->seconds();
    QTest::keyClick(canvas(), Qt::Key_W);
    QVERIFY(canvas()->end() - canvas()->begin() < 0.75 * all);
    QTest::keyClick(canvas(), Qt::Key_W);
    const double begin = canvas()->begin();
    QTest::keyClick(canvas(), Qt::Key_D);
    QVERIFY(canvas()->begin() > begin);
    QTest::keyClick(canvas(), Qt::Key_A);
    QVERIFY(std::abs(canvas()->begin() - begin) < 1e-9);
    QTest::keyClick(canvas(), Qt::Key_S);
    QTest::keyClick(canvas(), Qt::Key_S);
    QCOMPARE(canvas()->end() - canvas()->begin(), all);
    QTest::keyClick(canvas(), Qt::Key_M);
    QVERIFY(canvas()->range() && canvas()->range()->second == all);
    QTest::keyClick(canvas(), Qt::Key_Escape);
    workspace().selection.select_device(2);
    workspace().selection.select_step(step_at(plan(), 5));
    QTest::keyClick(canvas(), Qt::Key_F);
    QVERIFY(std::abs(canvas()->end() - canvas()->begin() - 1.2 * 2e-3) < 1e-9);
    QTest::keyClick(canvas(), Qt::Key_M);
    QVERIFY(std::abs(canvas()->range()->second - canvas()->range()->first - 2e-3) < 1e-9);
    QTest::keyClick(canvas(), Qt::Key_F);
    QCOMPARE(canvas()->end() - canvas()->begin(), all);
  }

  void steps_are_found_by_name_and_kind_and_walked_through() {
    run_three_steps();
    auto* text = page()->findChild<QLineEdit*>("timelineSearchText");
    auto* count = page()->findChild<QLabel*>("timelineSearchCount");
    QVERIFY(!text->isVisible());
    canvas()->setFocus();
    QTest::keyClick(canvas(), Qt::Key_Slash);
    QVERIFY(text->isVisible() && text->hasFocus());
    QTest::keyClicks(text, "EMBED_0");
    QCOMPARE(count->text(), QString("2 found"));
    QTest::keyClick(text, Qt::Key_Return);
    QCOMPARE(count->text(), QString("1 of 2"));
    QCOMPARE(workspace().selection.step(), std::optional(step_at(plan(), 0)));
    QTest::keyClick(text, Qt::Key_Return);
    QCOMPARE(workspace().selection.step(), std::optional(step_at(plan(), 2)));
    QTest::keyClick(text, Qt::Key_Return);
    QCOMPARE(count->text(), QString("1 of 2"));
    QTest::keyClick(text, Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(count->text(), QString("2 of 2"));
    text->setText("all-reduce");
    QCOMPARE(count->text(), QString("1 found"));
    text->setText("nothing of the kind");
    QCOMPARE(count->text(), QString("none"));
    QTest::keyClick(text, Qt::Key_Return);
    QTest::keyClick(text, Qt::Key_Escape);
    QVERIFY(!text->isVisible() && canvas()->hasFocus());
  }

  void the_key_that_finds_finds_steps_here_and_parameters_elsewhere() {
    auto* text = page()->findChild<QLineEdit*>("timelineSearchText");
    auto* filter = window_->findChild<QLineEdit*>("filter");
    canvas()->setFocus();
    QTest::keyClick(canvas(), Qt::Key_F, Qt::ControlModifier);
    QVERIFY(text->hasFocus() && !filter->hasFocus());
    QTest::keyClick(text, Qt::Key_Escape);
    auto* tree = window_->findChild<QWidget*>("parameterTree");
    tree->setFocus();
    QTest::keyClick(tree, Qt::Key_F, Qt::ControlModifier);
    QVERIFY(filter->hasFocus() && !text->isVisible());
  }

  void both_themes_and_colourings_paint_every_rank() {
    run_three_steps();
    auto* coloring = page()->findChild<QComboBox*>("timelineColoring");
    for (const ThemeChoice look : {ThemeChoice::dark, ThemeChoice::light}) {
      apply_theme(*qApp, look);
      for (int i = 0; i < coloring->count(); ++i) {
        coloring->setCurrentIndex(i);
        const QImage image = canvas()->grab().toImage();
        for (size_t row = 0; row < canvas()->rows().size(); ++row) {
          const QPoint bottom(point_of(row, 1).x(), int(canvas()->row_place(row).bottom()) - 2);
          const QPoint of_slice = point_of(row, 1) + QPoint(3, 5);
          const QColor pixel = image.pixelColor(canvas()->rows()[row].is_memory ? bottom : of_slice);
          QVERIFY2(pixel != theme().window && pixel != theme().base, qPrintable(pixel.name()));
        }
      }
    }
  }
};

REGISTER_WINDOW_TEST(TimelineTest)

}  // namespace timeline_test

#include "timeline_test.moc"
