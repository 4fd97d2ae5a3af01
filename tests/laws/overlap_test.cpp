#include <QtTest>

#include <random>

#include "engine/machine/host_machine.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/scheduled_program.h"
#include "engine/plan/stages.h"
#include "tests/laws/preset_case.h"
#include "tests/laws/stage_memory.h"
#include "tests/program/random_order.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace overlap_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// All collectives may run beside what a device computes.
Streams joined(const Program& program) {
  Streams streams;
  streams.names = {"compute", "network"};
  streams.of_group.assign(program.groups.size(), 1);
  streams.joined.assign(2, std::vector<std::optional<Streams::Slowdown>>(2));
  streams.joined[0][1] = streams.joined[1][0] = Streams::Slowdown{1, 1};
  return streams;
}

void check(const Plan& plan, const Mesh& mesh) {
  verify(plan.program, *plan.graph, mesh);
  prove_no_deadlock(plan.program, *plan.graph, mesh);
  Dependencies dependencies(plan.program, *plan.graph);
  for (int t = 0; t < static_cast<int>(plan.program.tasks.size()); ++t) {
    const Task& task = plan.program.tasks[static_cast<size_t>(t)];
    for (const auto& [before, behind, kind] : dependencies.of(t, plan.arenas[static_cast<size_t>(task.stage)]))
      QVERIFY(task.order.place(before) < task.order.place(behind));
  }
  for (const ArenaLayout& arena : plan.arenas) verify_memory(arena);
  check_stage_memory(plan);
}

constexpr int64_t steps = 3;

// The presets of tiny_lm with all their parameters, whose collectives are long enough to gain by moving, and an eighth
// of their tokens.
std::vector<std::string> few_tokens() { return {"model.seq_len=16", "data.batch_size=16"}; }

// Whether the plan trains as another did.
void trains_alike(const ThreadTraining& here, const Plan& other) {
  const ThreadTraining there = train_in_threads(other, steps);
  QCOMPARE(here.steps.size(), there.steps.size());
  for (size_t s = 0; s < here.steps.size(); ++s)
    QCOMPARE(value_of(here.steps[s].metrics, "loss"), value_of(there.steps[s].metrics, "loss"));
  QVERIFY(here.parameters == there.parameters);
  for (size_t r = 0; r < there.ranks.size(); ++r) {
    QCOMPARE(there.ranks[r].arena_bytes, other.arena_of(static_cast<int>(r)).bytes);
    QCOMPARE(there.ranks[r].wire_bytes, here.ranks[r].wire_bytes);
  }
}

}  // namespace

// Law 10: overlap on or off, and any order that dependencies allow: the same bits.
class OverlapTest : public QObject {
  Q_OBJECT

 private slots:
  void every_order_trains_to_the_same_bits_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QStringList>("settings");
    QTest::addColumn<bool>("moves");  // there are collectives that gain by it
    const auto row = [](const char* preset, const std::vector<std::string>& settings, bool moves = true) {
      QStringList list;
      for (const std::string& setting : settings) list << QString::fromStdString(setting);
      QTest::newRow(qPrintable(QString(preset) + " " + list.join(' '))) << QString(preset) << list << moves;
    };
    for (const MeshSize& mesh : {MeshSize{4, 2}, MeshSize{8, 1}, MeshSize{1, 8}}) {
      std::vector<std::string> settings = small_size();
      for (const std::string& setting : mesh_overrides(mesh.data, mesh.model)) settings.push_back(setting);
      row("parallax_decoder", settings);
      settings.push_back("sharding.mode=as_written");
      row("parallax_decoder", settings);
    }
    for (const char* preset : {"tiny_lm_fsdp", "tiny_lm_dp"}) row(preset, few_tokens());
    row("mintext_mlp", {}, false);
    row("workshop_1f1b", {}, false);
    row("workshop_zero_bubble", {}, false);
  }
  void every_order_trains_to_the_same_bits() {
    QFETCH(QString, preset);
    QFETCH(QStringList, settings);
    std::vector<std::string> overrides;
    for (const QString& setting : settings) overrides.push_back(setting.toStdString());
    const Plan plan = compile({load_preset(preset.toStdString(), overrides), reference_host()});
    const Mesh mesh = mesh_of_a_stage(plan.mesh, plan.pipeline.axis);
    const int threads = plan.threads_per_rank;

    Plan overlapped = plan;
    const Streams streams = joined(plan.program);
    const ScheduleProblem problem{
        *plan.graph,           mesh, plan.instruction_seconds, streams, threads, std::numeric_limits<int64_t>::max(),
        OverlapMode::automatic};
    ScheduledProgram scheduled = schedule(overlapped.program, problem);
    QVERIFY(scheduled.simulation.seconds <= plan.simulation.seconds * (1 + 1e-12));
    QFETCH(bool, moves);
    QCOMPARE(std::ranges::any_of(overlapped.program.tasks, [](const Task& task) { return !task.order.is_as_listed(); }),
             moves);
    overlapped.arenas = std::move(scheduled.arenas);
    check(overlapped, mesh);
    const ThreadTraining trained = train_in_threads(plan, steps);
    trains_alike(trained, overlapped);

    Plan shuffled = plan;
    std::mt19937 random(7);
    for (int t = 0; t < static_cast<int>(shuffled.program.tasks.size()); ++t)
      shuffled.program.tasks[static_cast<size_t>(t)].order = random_order(plan.program, *plan.graph, t, random);
    for (int stage = 0; stage < shuffled.program.stages; ++stage)
      shuffled.arenas[static_cast<size_t>(stage)] = plan_memory(shuffled.program, *plan.graph, threads, stage);
    check(shuffled, mesh);
    trains_alike(trained, shuffled);
  }

  // Times of plans that no device has room for compare with those of plans that fit.
  void what_does_not_fit_without_overlap_is_scheduled_as_if_there_were_room() {
    const Plan plan = compile({load_preset("tiny_lm_fsdp"), reference_host()});
    const Streams streams = joined(plan.program);
    const auto scheduled = [&](int64_t limit, OverlapMode overlap) {
      Program program = plan.program;
      return schedule(
          program, {*plan.graph, plan.mesh, plan.instruction_seconds, streams, plan.threads_per_rank, limit, overlap});
    };
    const int64_t room = std::numeric_limits<int64_t>::max();
    const ScheduledProgram blocking = scheduled(room, OverlapMode::off), free = scheduled(room, OverlapMode::automatic);
    QVERIFY(free.simulation.seconds < blocking.simulation.seconds);
    for (int64_t limit : {blocking.arena_bytes() - 1, int64_t{1}})
      QCOMPARE(scheduled(limit, OverlapMode::automatic).simulation.seconds, free.simulation.seconds);
  }

  // What fits without overlap fits with it.
  void overlap_keeps_to_the_memory_limit() {
    const Plan plan = compile({load_preset("tiny_lm_fsdp"), reference_host()});
    const Streams streams = joined(plan.program);
    int64_t before = 0;
    for (double share : {1.0, 1.05, 1.2, 2.0}) {
      Program program = plan.program;
      const auto limit = static_cast<int64_t>(share * static_cast<double>(plan.arena_bytes()));
      const ScheduledProgram scheduled = schedule(program, {*plan.graph, plan.mesh, plan.instruction_seconds, streams,
                                                            plan.threads_per_rank, limit, OverlapMode::automatic});
      QVERIFY(scheduled.arena_bytes() <= limit);
      QVERIFY(scheduled.simulation.seconds <= plan.simulation.seconds * (1 + 1e-12));
      QVERIFY(scheduled.arena_bytes() >= before);
      before = scheduled.arena_bytes();
    }
  }

  // On two hosts of four ranks, whose network moves messages while they compute.
  void between_hosts_a_plan_overlaps_by_itself_and_is_never_slower_for_it_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<bool>("as_written");
    for (const char* preset : {"tiny_lm_fsdp", "tiny_lm_dp"}) {
      for (bool as_written : {false, true})
        QTest::newRow(qPrintable(QString(preset) + (as_written ? " as written" : ""))) << QString(preset) << as_written;
    }
  }
  void between_hosts_a_plan_overlaps_by_itself_and_is_never_slower_for_it() {
    QFETCH(QString, preset);
    QFETCH(bool, as_written);
    PlanRequest request{load_preset(preset.toStdString(), few_tokens()), with_hosts(reference_host(), {4, 4})};
    request.config.sharding.mode = as_written ? LayoutMode::as_written : LayoutMode::fastest;
    const Plan overlapped = compile(request);
    request.config.schedule.overlap = OverlapMode::off;
    const Plan blocking = compile(request);
    QVERIFY(overlapped.simulation.communication[0].hidden > 0);
    QCOMPARE(blocking.simulation.communication[0].hidden, 0.0);
    QVERIFY(overlapped.totals.seconds_per_step < blocking.totals.seconds_per_step);
    QVERIFY(overlapped.simulation.communication[0].exposed < blocking.simulation.communication[0].exposed);
    QVERIFY(overlapped.hash != blocking.hash);
    check(overlapped, overlapped.mesh);
    // The layouts that the search took may be others where overlap decides between them.
    if (as_written) trains_alike(train_in_threads(blocking, steps), overlapped);
  }

  void off_is_as_listed() {
    const Plan plan = compile({load_preset("tiny_lm_fsdp"), reference_host()});
    Program program = plan.program;
    const ScheduledProgram scheduled =
        schedule(program, {*plan.graph, plan.mesh, plan.instruction_seconds, joined(program), 1,
                           std::numeric_limits<int64_t>::max(), OverlapMode::off});
    for (const Task& task : program.tasks) QVERIFY(task.order.is_as_listed());
    QVERIFY(scheduled.simulation.seconds > 0);
  }
};

REGISTER_TEST(OverlapTest)

}  // namespace overlap_test

#include "overlap_test.moc"
