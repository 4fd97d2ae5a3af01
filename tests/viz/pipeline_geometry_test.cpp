#include <QTest>
#include <algorithm>
#include <cmath>

#include "engine/graph/graph.h"
#include "tests/program/made_instruction.h"
#include "tests/test_program.h"
#include "viz/paint/pipeline_geometry.h"

namespace pipeline_geometry_test {

using namespace shardscope;
using test::instruction_of;

namespace {

constexpr double second = 1e9;  // in ns

// Two stages of two devices each, two microbatches, 1F1B: forward takes a second, backward two, update half a one, a
// message nothing. Stage 0 has no backward of weights of its own, stage 1 looks at the labels before it waits.
Plan two_stages() {
  Plan plan;
  plan.mesh = Mesh({{"data", 2}, {"pipeline", 2}});
  plan.graph = std::make_shared<Graph>();
  plan.pipeline.axis = AxisIndex(1);
  plan.pipeline.shape = {2, 1, 2};
  plan.program.stages = 2;
  plan.program.channels = {{0, 1, 8, 2}, {1, 0, 8, 2}};
  using enum InstructionKind;
  plan.program.tasks = {
      {"forward of stage 0", Phase::forward, {instruction_of(compute), instruction_of(send, {}, 0)}, {}, {}, 0},
      {"backward of stage 0", Phase::backward, {instruction_of(receive, {}, 1), instruction_of(compute)}, {}, {}, 0},
      {"update of stage 0", Phase::update, {instruction_of(compute)}, {}, {}, 0},
      {"forward of stage 1",
       Phase::forward,
       {instruction_of(compute), instruction_of(receive, {}, 0), instruction_of(compute)},
       {},
       {},
       1},
      {"backward of stage 1", Phase::backward, {instruction_of(compute), instruction_of(send, {}, 1)}, {}, {}, 1},
      {"update of stage 1", Phase::update, {instruction_of(compute)}, {}, {}, 1}};
  plan.instruction_seconds.tasks = {{1, 0}, {0, 2}, {0.5}, {0.25, 0, 0.75}, {2, 0}, {0.5}};
  plan.program.sequences = {
      make_sequence(Purpose::train_step, {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}}, plan.program.tasks, 0),
      make_sequence(Purpose::train_step, {{3, 0}, {4, 0}, {3, 1}, {4, 1}, {5, 0}}, plan.program.tasks, 1)};
  plan.simulation = simulate(plan.program, *plan.graph, plan.mesh, Purpose::train_step, plan.instruction_seconds);
  return plan;
}

std::string words(const Plan& plan, const PipelineRow& row) {
  std::string text;
  for (const TimelineSlice& block : row.blocks)
    text += (text.empty() ? "" : " ") + label_of(plan, run_at(plan.program.main(row.stage), block.step)).text;
  return text;
}

// What each rank of the plan measured, had it all gone as predicted, `late` seconds after the clock's beginning.
std::vector<std::vector<PlanStepTime>> as_predicted(const Plan& plan, double late) {
  std::vector<std::vector<PlanStepTime>> ranks;
  for (int rank = 0; rank < plan.mesh.device_count(); ++rank) {
    std::vector<PlanStepTime>& times = ranks.emplace_back();
    double before = 0;
    for (const auto& [start, end] : plan.simulation.stages[plan.stage_of(rank)]) {
      const auto ns = [&](double seconds) { return static_cast<int64_t>((seconds + late) * second); };
      times.push_back({ns(before), ns(start), ns(end)});
      before = end;
    }
  }
  return ranks;
}

}  // namespace

class PipelineGeometryTest : public QObject {
  Q_OBJECT

 private slots:
  void a_row_has_the_runs_of_its_stage_in_order_and_one_that_waits_in_its_midst_twice() {
    const Plan plan = two_stages();
    const PipelinePicture picture = predicted_pipeline(plan);
    QCOMPARE(picture.rows.size(), size_t{2});
    QCOMPARE(words(plan, picture.rows[0]), std::string("F0 F1 B0 B1 update"));
    QCOMPARE(words(plan, picture.rows[1]), std::string("F0 F0 B0 F1 B1 update"));
    QCOMPARE(picture.rows[1].blocks[1].start, 1.0);
    QCOMPARE(picture.rows[1].blocks[0].end, 0.25);
  }

  void blocks_follow_each_other_and_what_is_between_is_the_timelines_bubble() {
    const Plan plan = two_stages();
    const PipelinePicture picture = predicted_pipeline(plan);
    QCOMPARE(picture.seconds, plan.simulation.seconds);
    QVERIFY(picture.bubble() > 0);
    QVERIFY(std::abs(picture.bubble() - plan.simulation.bubble) < 1e-12);
    for (const PipelineRow& row : picture.rows) {
      double before = 0, drawn = 0;
      for (const TimelineSlice& block : row.blocks) {
        QVERIFY(block.start >= before && block.end >= block.start);
        before = block.end;
        drawn += block.end - block.start;
      }
      QVERIFY(std::abs(drawn - row.busy) < 1e-12);
      QVERIFY(before <= picture.seconds);
    }
  }

  void what_is_measured_as_predicted_is_drawn_as_predicted() {
    const Plan plan = two_stages();
    const PipelinePicture predicted = predicted_pipeline(plan);
    const std::optional<PipelinePicture> measured = measured_pipeline(plan, as_predicted(plan, 7));
    QVERIFY(measured);
    QVERIFY(std::abs(measured->seconds - predicted.seconds) < 1e-8);
    QVERIFY(std::abs(measured->bubble() - predicted.bubble()) < 1e-8);
    for (size_t i = 0; i < predicted.rows.size(); ++i) {
      QCOMPARE(words(plan, measured->rows[i]), words(plan, predicted.rows[i]));
      for (size_t block = 0; block < predicted.rows[i].blocks.size(); ++block)
        QVERIFY(std::abs(measured->rows[i].blocks[block].start - predicted.rows[i].blocks[block].start) < 1e-8);
    }
  }

  void measured_rows_are_of_the_device_and_of_those_at_its_place_in_other_stages() {
    const Plan plan = two_stages();
    for (int device = 0; device < plan.mesh.device_count(); ++device) {
      const std::optional<PipelinePicture> measured = measured_pipeline(plan, as_predicted(plan, 0), device);
      QVERIFY(measured);
      for (const PipelineRow& row : measured->rows) {
        QCOMPARE(plan.stage_of(row.device), row.stage);
        QCOMPARE(plan.mesh.coordinate(row.device, 0), plan.mesh.coordinate(device, 0));
        QCOMPARE(row.device, device_at_stage(plan, device, row.stage));
      }
      QCOMPARE(measured->rows[static_cast<size_t>(plan.stage_of(device))].device, device);
    }
  }

  void times_of_another_plan_are_not_drawn() {
    const Plan plan = two_stages();
    std::vector<std::vector<PlanStepTime>> times = as_predicted(plan, 0);
    times[1].pop_back();
    QVERIFY(!measured_pipeline(plan, times, 0));
    QVERIFY(!measured_pipeline(plan, {}, 0));
    times.resize(1);
    QVERIFY(!measured_pipeline(plan, times, 0));
  }

  void labels_tell_microbatch_chunk_and_what_the_task_does() {
    Plan plan = two_stages();
    plan.program.tasks[0].name = "backward of weights of stage 0, chunk 1";
    const TaskLabel weights = label_of(plan, {0, 12});
    QCOMPARE(weights.text, std::string("W12b"));
    QCOMPARE(weights.chunk, 1);
    QVERIFY(weights.is_weights && weights.is_repeated);
    QCOMPARE(label_of(plan, {1, 3}).text, std::string("B3"));
    QVERIFY(!label_of(plan, {2, 0}).is_repeated);
  }
};

REGISTER_TEST(PipelineGeometryTest)

}  // namespace pipeline_geometry_test

#include "pipeline_geometry_test.moc"
