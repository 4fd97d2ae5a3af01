#include "engine/plan/advice.h"
#include "engine/machine/host_machine.h"

#include <QTest>
#include <cmath>

#include "tests/compile/system_preset.h"
#include "tests/machine/host_rates.h"
#include "tests/test_program.h"

namespace advice_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

const Error* find(const std::vector<Error>& warnings, const std::string& code) {
  const auto found = std::ranges::find(warnings, code, &Error::code);
  return found == warnings.end() ? nullptr : &*found;
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
  plan.totals.memory_total = bytes;
  plan.totals.live_lower_bound = bytes - unused;
  return plan;
}

}  // namespace

class AdviceTest : public QObject {
  Q_OBJECT

 private slots:
  void communication_is_told_where_it_takes_more_than_a_fifth_of_the_step() {
    int told = 0, silent = 0;
    size_t plans = 0;
    for (const SystemPreset& one : system_presets()) {
      for (const std::vector<int64_t>& mesh : meshes_of(one.mesh_axes)) {
        const Plan plan = compile({system_run(one.name, one.small, mesh), unlike_machines()[plans++ % 3]});
        const double share = collective_share(plan);
        const std::vector<Error> advised = advice(plan);
        const Error* warning = find(advised, "communication");
        QCOMPARE(warning != nullptr, share > most_communication);
        (warning ? told : silent) += 1;
        if (!warning) continue;
        const std::string percent = std::to_string(std::lround(100 * share)) + " %";
        QVERIFY2(warning->message.find(percent) != std::string::npos, warning->message.c_str());
        const std::string place = to_string(warning->place);
        const auto axis = static_cast<size_t>(std::stoi(place.substr(std::string("mesh.axes[").size())));
        QVERIFY(mesh[axis] > 1);
        QVERIFY(warning->hint.find("'" + plan.mesh.axes()[axis].name + "'") != std::string::npos);
      }
    }
    QVERIFY(told > 0 && silent > 0);
  }

  void communication_of_any_stage_and_between_stages_counts() {
    Machine slow = reference_host(), quick = reference_host();
    test::rendezvous_latency(slow) = 0.01;
    test::rendezvous_latency(quick) = 0;
    test::copy_rate(quick) = 1e15;
    const RunConfig config =
        load_run_file(std::filesystem::path(SHARDSCOPE_SOURCE_DIR) / "presets/workshop_gpipe.json");
    QVERIFY(!find(advice(compile({config, quick})), "communication"));
    const std::vector<Error> advised = advice(compile({config, slow}));
    const Error* told = find(advised, "communication");
    QVERIFY(told);
    QVERIFY2(told->message.find("step on stage ") != std::string::npos, told->message.c_str());
    QCOMPARE(to_string(told->place), std::string("mesh.axes[1]"));
  }

  void fragmentation_is_told_above_a_tenth_of_the_arena_and_a_mebibyte() {
    constexpr int64_t mebibyte = 1 << 20;
    QVERIFY(!find(advice(with_arena(100 * mebibyte, 10 * mebibyte)), "fragmentation"));
    const std::vector<Error> told = advice(with_arena(100 * mebibyte, 11 * mebibyte));
    QVERIFY(find(told, "fragmentation"));
    QVERIFY(find(told, "fragmentation")->message.find("11 %") != std::string::npos);
    QVERIFY(!find(advice(with_arena(mebibyte, mebibyte / 2)), "fragmentation"));
  }

  void no_preset_is_fragmented() {
    for (const SystemPreset& one : system_presets()) {
      const Plan plan = compile({system_run(one.name, {}), reference_host()});
      QVERIFY2(!find(advice(plan), "fragmentation"), one.name.c_str());
    }
  }

  void stages_out_of_balance_are_told_with_the_layers_to_move() {
    struct Case {
      std::vector<double> seconds;
      bool told;
      std::string said, hint;
    };
    for (const Case& c :
         std::vector<Case>{{{}, false, "", ""},
                           {{0.003}, false, "", ""},
                           {{0, 0}, false, "", ""},
                           {{0.01, 0.01, 0.01}, false, "", ""},
                           {{0.01, 0.0091, 0.009, 0.009}, false, "", ""},
                           {{0.010, 0.020, 0.006},
                            true,
                            "stage 1 computes 20 ms for a microbatch, the mean of 3 stages is 12 ms: they "
                            "wait 40 % of the time",
                            "from stage 1 to stage 2, which computes 6 ms"}}) {
      const std::optional<Error> error = stage_imbalance(c.seconds, "pipeline");
      QCOMPARE(error.has_value(), c.told);
      if (!error) continue;
      QCOMPARE(to_string(error->place), std::string("pipeline"));
      QVERIFY2(error->message.find(c.said) != std::string::npos, error->message.c_str());
      QVERIFY2(error->hint.find(c.hint) != std::string::npos, error->hint.c_str());
    }
    QVERIFY(!stage_imbalance(std::vector<double>{0.010, 0.020}, "pipeline", 0.3));
  }
};

REGISTER_TEST(AdviceTest)

}  // namespace advice_test

#include "advice_test.moc"
