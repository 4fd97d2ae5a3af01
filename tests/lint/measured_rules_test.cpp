#include "engine/lint/rules/lint_rule.h"

#include <QTest>
#include <cmath>

#include "engine/compile/document_of.h"
#include "engine/lint/rules/stage_imbalance.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/machine/host_rates.h"
#include "tests/test_program.h"

namespace measured_rules_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::optional<Fault> find(const Plan& plan, const std::string& rule) {
  const RunConfig config = document_of(plan);
  const std::vector<Fault> faults = find_lint_rule(rule)->find(LintSubject(plan, config));
  return faults.empty() ? std::nullopt : std::optional(faults.front());
}

double collective_share(const Plan& plan) {
  double collectives = 0, all = 0;
  for (int i = 0; i < plan.instructions().size(); ++i) {
    all += plan.seconds(i);
    if (is_collective(plan.instructions()[i].kind())) collectives += plan.seconds(i);
  }
  return collectives / all;
}

// A plan of one device whose peak leaves `unused` of `bytes` free.
Plan with_arena(int64_t bytes, int64_t unused) {
  Plan plan = compile({system_run("mintext_mlp", {}, {1, 1}), reference_host()});
  plan.totals.memory_total = plan.totals.device_bytes = bytes;
  plan.totals.live_lower_bound = bytes - unused;
  return plan;
}

}  // namespace

class MeasuredRulesTest : public QObject {
  Q_OBJECT

 private slots:
  void communication_is_reported_where_it_takes_more_than_a_fifth_of_the_step() {
    int reported = 0, silent = 0;
    size_t plans = 0;
    for (const SystemPreset& one : system_presets()) {
      for (const std::vector<int64_t>& mesh : meshes_of(one.mesh_axes)) {
        const Plan plan = compile({system_run(one.name, one.small, mesh), unlike_machines()[plans++ % 3]});
        const double share = collective_share(plan);
        const std::optional<Fault> warning = find(plan, "communication");
        QCOMPARE(warning.has_value(), share > 0.2);
        (warning ? reported : silent) += 1;
        if (!warning) continue;
        const std::string percent = std::to_string(std::lround(100 * share)) + " %";
        QVERIFY2(warning->message.find(percent) != std::string::npos, warning->message.c_str());
        const std::string place = to_string(warning->place);
        const auto axis = static_cast<size_t>(std::stoi(place.substr(std::string("mesh.axes[").size())));
        QVERIFY(mesh[axis] > 1);
        QVERIFY(warning->no_fix.find("'" + plan.mesh.axes()[axis].name + "'") != std::string::npos);
      }
    }
    QVERIFY(reported > 0 && silent > 0);
  }

  void communication_of_any_stage_and_between_stages_counts() {
    Machine slow = reference_host(), quick = reference_host();
    test::rendezvous_latency(slow) = 0.01;
    test::rendezvous_latency(quick) = 0;
    test::copy_rate(quick) = 1e15;
    const RunConfig config =
        load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/workshop_gpipe.json");
    QVERIFY(!find(compile({config, quick}), "communication"));
    const std::optional<Fault> reported = find(compile({config, slow}), "communication");
    QVERIFY(reported);
    QVERIFY2(reported->message.find("step on stage ") != std::string::npos, reported->message.c_str());
    QCOMPARE(to_string(reported->place), std::string("mesh.axes[1]"));
  }

  void fragmentation_is_reported_above_a_tenth_of_the_arena_and_a_mebibyte() {
    constexpr int64_t mebibyte = 1 << 20;
    QVERIFY(!find(with_arena(100 * mebibyte, 10 * mebibyte), "fragmentation"));
    const std::optional<Fault> reported = find(with_arena(100 * mebibyte, 11 * mebibyte), "fragmentation");
    QVERIFY(reported);
    QVERIFY(reported->message.find("11 %") != std::string::npos);
    QVERIFY(!find(with_arena(mebibyte, mebibyte / 2), "fragmentation"));
  }

  void no_preset_is_fragmented() {
    for (const SystemPreset& one : system_presets()) {
      const Plan plan = compile({system_run(one.name, {}), reference_host()});
      QVERIFY2(!find(plan, "fragmentation"), one.name.c_str());
    }
  }

  void stages_are_out_of_balance_by_what_they_wait_for_the_slowest() {
    const std::pair<std::vector<double>, double> cases[] = {
        {{}, 0}, {{0.003}, 0}, {{0, 0}, 0}, {{0.01, 0.01, 0.01}, 0}, {{0.010, 0.020, 0.006}, 0.4}, {{1, 3}, 1.0 / 3}};
    for (const auto& [seconds, idle] : cases) QVERIFY(std::abs(stage_imbalance(seconds) - idle) < 1e-12);
  }

  void the_stage_that_is_waited_for_gives_layers_away() {
    const std::vector<std::string> small{"model.num_layers=8", "model.hidden_size=64", "model.ffn_hidden_size=128",
                                         "model.seq_len=16",   "model.num_heads=4",    "mesh.data=1",
                                         "mesh.model=1",       "data.batch_size=16"};
    std::vector<std::string> uneven = small;
    uneven.push_back("pipeline.layers=[6,2]");
    std::vector<std::string> even = small;
    even.push_back("pipeline.layers=[4,4]");
    QVERIFY(!find(compile({system_run("workshop_3d", even), reference_host()}), "stage_imbalance"));
    const std::optional<Fault> reported =
        find(compile({system_run("workshop_3d", uneven), reference_host()}), "stage_imbalance");
    QVERIFY(reported);
    QVERIFY2(reported->message.starts_with("stage 0 computes "), reported->message.c_str());
    QVERIFY2(reported->no_fix.starts_with("move layers from stage 0 to stage 1"), reported->no_fix.c_str());
    QVERIFY(std::ranges::count(reported->fixes, Settings{"pipeline.layers=[5,3]"}) == 1);
  }
};

REGISTER_TEST(MeasuredRulesTest)

}  // namespace measured_rules_test

#include "measured_rules_test.moc"
