#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStandardPaths>
#include <QTest>
#include <QToolButton>
#include <algorithm>
#include <set>

#include "engine/base/units.h"
#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/layout_view.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/pipeline_page.h"
#include "gui/pages/stage_box.h"
#include "gui/pages/timeline_page.h"
#include "gui/pages/timeline_words.h"
#include "gui/run/run_comparison.h"
#include "gui/window/presets.h"
#include "gui/window/window.h"
#include "gui/workspace/array_facts.h"
#include "tests/gui/small_models.h"
#include "tests/test_program.h"

namespace pipeline_test {

using namespace shardscope;

// Pipelines in the window, with the real planner and real ranks.
class PipelineTest : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;

  Workspace& workspace() { return window_->workspace(); }
  Planner& planner() { return workspace().planner; }
  Document& document() { return workspace().document; }
  const Plan& plan() { return *planner().plan(); }
  PipelinePage* page() { return window_->findChild<PipelinePage*>(); }
  ScheduleView* timeline() { return window_->findChild<ScheduleView*>(); }
  template <class Field>
  Field* field(const char* place) {
    return window_->findChild<Field*>(place);
  }

  static RunConfig small_config() {
    RunConfig config = made::small_gpt(4, 1, 1, 4);
    config.steps = 6;
    return config;
  }

  static RunConfig piped_config() {
    RunConfig config = made::piped_gpt(4, 1, 1, 4);
    config.steps = 6;
    return config;
  }

  QPushButton* offer(const char* name) {
    for (auto* button : page()->findChildren<QPushButton*>(name))
      if (button->isVisible()) return button;
    return nullptr;
  }

  void settle() {
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QVERIFY2(planner().is_current(), planner().errors().empty() ? "" : to_string(planner().errors().front()).c_str());
  }

  void open(const RunConfig& config) {
    document().reset(config, {});
    settle();
  }

  void choose(const char* place, const QString& data) {
    auto* box = field<QComboBox>(place);
    const int index = box->findData(data);
    QVERIFY2(index >= 0, qPrintable(data));
    box->setCurrentIndex(index);
    emit box->activated(index);
    settle();
  }

  // "F0", "B3": of the blocks of a row, without those that are a run's second part.
  std::vector<std::string> labels(const PipelineRow& row) {
    std::vector<std::string> texts;
    const TaskRun* before = nullptr;
    for (const TimelineSlice& block : row.blocks) {
      const TaskRun& run = run_at(plan().program.main(row.stage), block.step);
      if (&run != before) texts.push_back(label_of(plan(), run).text);
      before = &run;
    }
    return texts;
  }

  static int count(const std::vector<std::string>& labels, char part) {
    const auto is_part = [part](const std::string& label) { return label.front() == part; };
    return static_cast<int>(std::ranges::count_if(labels, is_part));
  }

 private slots:
  void initTestCase() {
    QStandardPaths::setTestModeEnabled(true);
    apply_theme(*qApp, ThemeChoice::light);
  }

  void init() {
    window_ = std::make_unique<MainWindow>(compiled_plans(), SHARDSCOPE_BINARY_DIR "/bin/shardrun");
    window_->show();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    auto* dock = window_->findChild<QDockWidget*>("settings");
    dock->show();
    dock->raise();
    QVERIFY(window_->show_page("Pipeline"));
  }

  void cleanup() {
    document().reset(small_config(), {});
    window_.reset();
  }

  void without_a_pipeline_the_page_gives_one_in_one_click_and_undo_takes_it() {
    open(small_config());
    QTRY_VERIFY_WITH_TIMEOUT(offer("addPipelineAxis"), patience);
    QPushButton* add = offer("addPipelineAxis");
    QVERIFY(!timeline()->isVisible());
    QTest::mouseClick(add, Qt::LeftButton);
    settle();
    QCOMPARE(plan().program.stages, 2);
    QVERIFY(timeline()->isVisible());
    QCOMPARE(document().undo_stack().count(), 1);
    document().undo_stack().undo();
    settle();
    QVERIFY(document().config() == small_config());
    QVERIFY(!timeline()->isVisible());
    RunConfig wide = small_config();
    wide.mesh_axes[0].size = 2;
    open(wide);
    QTRY_VERIFY_WITH_TIMEOUT(offer("usePipelineAxis"), patience);
    QTest::mouseClick(offer("usePipelineAxis"), Qt::LeftButton);
    QCOMPARE(document().config().pipeline.axis, std::string("batch"));
  }

  void every_schedule_is_drawn_with_each_microbatch_once_and_ends_when_the_plan_says() {
    open(piped_config());
    for (const char* schedule : {"gpipe", "interleaved", "zero_bubble", "1f1b"}) {
      choose("pipeline.schedule", schedule);
      QCOMPARE(document().config().pipeline.schedule, std::string(schedule));
      const int items = plan().pipeline.shape.chunks * plan().pipeline.shape.microbatches;
      QCOMPARE(timeline()->predicted().rows.size(), size_t(plan().program.stages));
      for (const PipelineRow& row : timeline()->predicted().rows) {
        const std::vector<std::string> texts = labels(row);
        QCOMPARE(count(texts, 'F'), items);
        QCOMPARE(count(texts, 'B'), items);
        QCOMPARE(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
      }
      QCOMPARE(timeline()->predicted().seconds, plan().simulation.seconds);
      QVERIFY(std::abs(timeline()->predicted().bubble() - plan().simulation.bubble) < 1e-9);
    }
    QVERIFY(field<QWidget>("pipeline.schedule")->isEnabled());
  }

  void the_panel_edits_the_pipeline_and_its_errors_stand_at_its_fields() {
    open(small_config());
    QVERIFY(!field<QWidget>("pipeline.layers")->isEnabled());
    choose("pipeline.axis", "\n");
    QCOMPARE(document().config().pipeline.axis, std::string("pipeline"));
    QVERIFY(field<QWidget>("pipeline.layers")->isEnabled());
    QVERIFY(!field<QWidget>("pipeline.chunks")->isEnabled());
    choose("pipeline.schedule", "interleaved");
    QCOMPARE(document().config().pipeline.chunks, int64_t{2});
    QVERIFY(field<QWidget>("pipeline.chunks")->isEnabled());
    choose("pipeline.schedule", "1f1b");
    QCOMPARE(document().config().pipeline.chunks, int64_t{1});
    auto* layers = field<QLineEdit>("pipeline.layers");
    const auto type = [&](const QString& text) {
      layers->setFocus();
      layers->selectAll();
      QTest::keyClicks(layers, text);
      QTest::keyClick(layers, Qt::Key_Return);
    };
    type("1, 3");
    settle();
    QCOMPARE(plan().pipeline.layers, std::vector<int>({1, 3}));
    type("1, two");
    QVERIFY(layers->property("invalid").toBool());
    QCOMPARE(document().config().pipeline.layers, std::vector<int64_t>({1, 3}));
    type("1, 2");
    QTRY_VERIFY_WITH_TIMEOUT(!planner().is_busy(), patience);
    QVERIFY(!planner().errors().empty() && layers->property("invalid").toBool());
    QVERIFY(layers->toolTip().contains("4"));
    while (document().undo_stack().canUndo()) document().undo_stack().undo();
    QVERIFY(document().config() == small_config());
    settle();
  }

  void pages_show_the_stage_of_the_selected_device() {
    open(piped_config());
    QVERIFY(window_->show_page("Memory"));
    auto* box = window_->findChild<MemoryPage*>()->findChild<StageBox*>();
    QVERIFY(box->isVisible());
    QCOMPARE(box->count(), 2);
    for (const int device : {1, 0}) {
      workspace().selection.select_device(device);
      QCOMPARE(box->currentIndex(), plan().stage_of(device));
    }
    emit box->activated(1);
    QCOMPARE(workspace().selection.device(), std::optional(plan().devices_of_stage(1).front()));
    for (const char* name : {"Flow", "Timeline", "Layout", "Collectives"}) {
      QVERIFY(window_->show_page(name));
      QVERIFY(!window_->grab().isNull());
    }
    const std::ptrdiff_t starts = std::ranges::count_if(
        plan().instructions(1), [](const Instruction& instruction) { return is_collective(instruction.kind()); });
    QCOMPARE(std::ssize(predicted_steps(plan()).at(1).track.slices()), plan().instructions(1).size() - starts);
  }

  void sends_and_receives_stand_among_the_collectives_with_their_stage() {
    QVERIFY(window_->show_page("collectives"));
    open(piped_config());
    QTreeView* table = window_->findChild<CollectivesPage*>()->table();
    QVERIFY(!table->isColumnHidden(CollectivesModel::stage_column));
    std::set<QString> kinds;
    for (int row = 0; row < table->model()->rowCount(); ++row) {
      const auto cell = [&](int column) { return table->model()->index(row, column).data().toString(); };
      const auto id = table->model()->index(row, 0).data(CollectivesModel::step_role).value<StepRef>();
      kinds.insert(cell(CollectivesModel::kind_column) + " " + cell(CollectivesModel::stage_column));
      QCOMPARE(cell(CollectivesModel::stage_column), QString::number(stage_of(plan(), id)));
      if (is_transfer(find_step(plan(), id)->kind()))
        QCOMPARE(cell(CollectivesModel::axes_column), QString("pipeline"));
      workspace().select_step(id);
      QCOMPARE(shown_stage(plan(), workspace().selection), stage_of(plan(), id));
    }
    for (const char* kind : {"send 0", "receive 0", "send 1", "receive 1"}) QVERIFY2(kinds.contains(kind), kind);
    open(small_config());
    QVERIFY(table->isColumnHidden(CollectivesModel::stage_column));
  }

  void a_parameter_is_on_the_devices_of_its_stage_alone() {
    open(piped_config());
    QVERIFY(window_->show_page("Layout"));
    std::set<int> seen;
    for (const ParameterPlan& parameter : plan().parameters) {
      const ArrayRef array = ParameterRef{parameter.path};
      const std::optional<ArrayFacts> facts = array_facts(workspace(), array);
      QVERIFY(facts);
      const int stage = plan().program.values[parameter.value].stage;
      QCOMPARE(facts->stages, std::vector<int>({stage}));
      QCOMPARE(copies_of(*facts, plan()), int64_t{1});
      workspace().selection.select_array(array);
      auto* layout = window_->findChild<LayoutView*>();
      for (int device = 0; device < 2; ++device)
        QCOMPARE(layout->shard_rect(device).isNull(), plan().stage_of(device) != stage);
      seen.insert(stage);
    }
    QCOMPARE(seen.size(), size_t{2});
  }

  // The ranks of a stage need not be alike: which of them is shown may not change what comes next.
  void every_step_that_is_found_is_walked_through_whichever_rank_is_selected() {
    open(made::piped_gpt(2, 2, 1, 2));
    QVERIFY(window_->show_page("timeline"));
    auto* found = window_->findChild<TimelinePage*>();
    HelloMessage hello;
    hello.plan_hash = plan().hash;
    hello.ranks = plan().mesh.device_count();
    hello.plan_steps = plan_step_names(plan());
    TraceMessage trace{TraceChoice::median, 3, {}};
    int early = -1;  // a rank of the first stage, long before all others
    for (int rank = 0; rank < hello.ranks; ++rank) {
      const int stage = plan().stage_of(rank);
      if (stage == 0) early = rank;
      trace.ranks.emplace_back();
    }
    for (int rank = 0; rank < hello.ranks; ++rank)
      for (int position = 0; position < plan().instructions(plan().stage_of(rank)).size(); ++position) {
        const int64_t at = 1'000'000 * int64_t{position} + (rank == early                ? 0
                                                            : plan().stage_of(rank) == 0 ? 20'000'000'000
                                                                                         : 10'000'000'000);
        trace.ranks[size_t(rank)].push_back({at, at, at + 500'000});
      }
    workspace().run.begin_replay(planner().plan());
    workspace().run.receive(hello);
    workspace().run.receive(trace);
    QTRY_VERIFY_WITH_TIMEOUT(found->is_settled() && found->canvas()->rows().size() == size_t(hello.ranks) + 4,
                             patience);
    workspace().selection.select_device(early);
    found->canvas()->setFocus();
    QTest::keyClick(found->canvas(), Qt::Key_Slash);
    auto* text = found->findChild<QLineEdit*>("timelineSearchText");
    text->setText("einsum");
    const int count = found->findChild<QLabel*>("timelineSearchCount")->text().section(' ', 0, 0).toInt();
    QVERIFY(count > 8);
    std::set<std::pair<StepRef, double>> seen;  // a step comes once for each microbatch
    for (int i = 0; i < count; ++i) {
      QTest::keyClick(text, Qt::Key_Return);
      QTest::keyClick(found->canvas(), Qt::Key_M);
      seen.emplace(*workspace().selection.step(), found->canvas()->range()->first);
    }
    QCOMPARE(int(seen.size()), count);
  }

  void a_transfer_is_said_to_have_waited_only_where_it_has() {
    open(made::piped_gpt(2, 1, 1, 2));
    std::vector<std::vector<PlanStepTime>> times(2);
    int received = -1;
    for (int rank = 0; rank < 2; ++rank)
      for (int position = 0; position < plan().instructions(rank).size(); ++position) {
        const int64_t at = 1'000'000 * int64_t{position};
        if (rank == 1 && plan().instructions(1)[position].kind() == InstructionKind::receive) received = position;
        times[size_t(rank)].push_back({at, at, at + 500'000});
      }
    QVERIFY(received >= 0);
    for (const bool waits : {false, true}) {
      PlanStepTime& time = times[1][size_t(received)];
      if (waits) time.start_ns = time.arrive_ns + 200'000;
      const TraceMessage trace{TraceChoice::latest, 3, times};
      const std::optional<MeasuredStep> measured = measured_step(plan(), times);
      QVERIFY(measured);
      const TimelineRow row{1, 1, &measured->ranks[1].track};
      QCOMPARE(step_facts(plan(), &trace, row, received, {}).contains("It waited for rank 0"), waits);
      const int slice = row.track->slices_of(received).first;
      QCOMPARE(slice_tip(workspace(), plan(), &trace, row, slice).contains("waited for rank 0"), waits);
    }
  }

  void a_run_of_two_ranks_is_drawn_beneath_the_prediction() {
    open(piped_config());
    QVERIFY(!timeline()->measured());
    QTest::mouseClick(window_->findChild<QToolButton*>("trainButton"), Qt::LeftButton);
    RunControl& run = workspace().run;
    QTRY_VERIFY_WITH_TIMEOUT(timeline()->measured() && !run.is_active(), patience);
    QVERIFY2(run.state() == RunControl::State::finished, qPrintable(run.state_text()));
    const PipelinePicture& measured = *timeline()->measured();
    for (const PipelineRow& row : measured.rows) {
      QCOMPARE(labels(row), labels(timeline()->predicted().rows[size_t(row.stage)]));
      QCOMPARE(row.device, row.stage);
    }
    QVERIFY(measured.bubble() >= 0 && measured.bubble() < 1);
    for (const Comparison& row : compare(plan(), stage_quantities(plan()), run.record())) {
      QVERIFY2(row.is_measured, qPrintable(row.name));
      const bool is_planned = row.format == bytes_text && !row.name.startsWith("Moved");  // which the transport decides
      if (is_planned) QVERIFY2(row.measured == row.predicted, qPrintable(row.name));
    }
    for (int stage = 0; stage < 2; ++stage)
      QVERIFY(workspace().measured_seconds(step_at(plan(), plan().instructions(stage).size() - 1, stage)));
    const QRectF place = timeline()->row_place(1, true);
    const auto length = [](const TimelineSlice& slice) { return slice.end - slice.start; };
    const TimelineSlice& block = std::ranges::max(measured.rows[1].blocks, {}, length);
    const double all = std::max(measured.seconds, timeline()->predicted().seconds);
    const QPointF inside(place.x() + (block.start + block.end) / 2 / all * place.width(), place.center().y());
    QTest::mouseClick(timeline(), Qt::LeftButton, {}, inside.toPoint());
    QVERIFY(workspace().selection.step());
    QCOMPARE(stage_of(plan(), *workspace().selection.step()), 1);
    QCOMPARE(workspace().selection.device(), std::optional(1));
  }
};

REGISTER_WINDOW_TEST(PipelineTest)

}  // namespace pipeline_test

#include "pipeline_test.moc"
#include "tests/gui/small_models.h"
#include "tests/patience.h"
