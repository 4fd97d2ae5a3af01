#include "engine/compare/plan_difference.h"

#include <fmt/format.h>

#include <QTest>
#include <cmath>
#include <map>
#include <tuple>

#include "engine/base/path.h"
#include "engine/compare/run_difference.h"
#include "engine/compile/file_paths.h"
#include "engine/machine/chosen_machine.h"
#include "engine/plan/hidden_transfers.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace plan_difference_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Pairs of plans of small presets: the preset's mesh and mode, and another.
std::vector<std::pair<Plan, Plan>> pairs() {
  std::vector<std::pair<Plan, Plan>> list;
  size_t machines = 0;
  for (const SystemPreset& one : system_presets()) {
    const std::vector<std::vector<int64_t>> meshes = meshes_of(one.mesh_axes);
    std::vector<std::string> other = one.small;
    other.push_back("sharding.mode=as_written");
    list.emplace_back(compile({system_run(one.name, one.small, meshes.back()), unlike_machines()[machines % 3]}),
                      compile({system_run(one.name, other, meshes.front()), unlike_machines()[machines % 3]}));
    ++machines;
  }
  return list;
}

double sum(const std::vector<TimeCause>& causes) {
  double seconds = 0;
  for (const TimeCause& cause : causes) seconds += cause.seconds;
  return seconds;
}

bool is_close(double one, double other) { return std::abs(one - other) <= 1e-9 * std::max(std::abs(one), 1e-6); }

}  // namespace

class PlanDifferenceTest : public QObject {
  Q_OBJECT

 private slots:
  void causes_add_up_to_the_step_and_its_hidden_and_exposed_communication() {
    for (const char* name : {"workshop_1f1b", "workshop_interleaved", "workshop_zero_bubble", "parallax_decoder"}) {
      const Plan plan = compile({system_run(name, {}), reference_host()});
      const std::vector<TimeCause> causes = time_causes(plan);
      QVERIFY2(is_close(sum(causes), plan.totals.seconds_per_step), name);
    }
    for (const auto& [one, other] : pairs()) {
      QVERIFY(is_close(sum(time_causes(one)), one.totals.seconds_per_step));
      double hidden = 0;
      for (const TimeCause& cause : time_causes(one)) hidden += cause.hidden;
      if (one.program.stages == 1) QVERIFY(is_close(hidden, one.simulation.communication[0].hidden));
    }
  }

  void what_a_stack_hides_behind_passes_is_hidden_in_the_causes_and_in_what_differs() {
    RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/tiny_lm_dp.json");
    config.machine = machine_choice("dgx_h100");
    const auto plan_with = [&](bool overlap) {
      config.stack =
          fmt::format(R"({{"name": "megatron", "overlap": {{"gradients": {0}, "parameters": {0}}}}})", overlap);
      return compile(plan_request(config));
    };
    const Plan exposing = plan_with(false), hiding = plan_with(true);
    QVERIFY(hiding.simulation.communication[0].hidden > exposing.simulation.communication[0].hidden);
    double hidden = 0, behind_pass = 0, change = 0;
    for (const TimeCause& cause : time_causes(hiding)) {
      hidden += cause.hidden;
      behind_pass += cause.hidden > 0 && cause.behind == pass_text(false) ? cause.hidden : 0;
    }
    QVERIFY(behind_pass > 0);
    QVERIFY(is_close(hidden, hiding.simulation.communication[0].hidden));
    QVERIFY(is_close(sum(time_causes(hiding)), hiding.totals.seconds_per_step));
    for (const PlanDifference::Hidden& line : difference_of(exposing, hiding).hidden)
      change += line.after - line.before;
    QVERIFY(is_close(change, hidden - exposing.simulation.communication[0].hidden));
  }

  void differences_by_cause_add_up_to_that_of_the_step() {
    for (const auto& [one, other] : pairs()) {
      const PlanDifference difference = difference_of(one, other);
      double change = 0;
      for (const PlanDifference::Time& time : difference.times) change += time.after - time.before;
      const double step = other.totals.seconds_per_step - one.totals.seconds_per_step;
      QVERIFY(std::abs(change - step) <= 1e-9 * one.totals.seconds_per_step);
      QCOMPARE(difference.memory.front().after - difference.memory.front().before,
               other.totals.memory_total - one.totals.memory_total);
      double sent = 0;
      for (const PlanDifference::Traffic& line : difference.traffic) sent += line.after_bytes - line.before_bytes;
      if (one.program.stages == 1)
        QVERIFY(is_close(sent, other.totals.wire_bytes_per_device - one.totals.wire_bytes_per_device));
      for (size_t i = 1; i < difference.times.size(); ++i) {
        const auto size = [&](size_t at) { return std::abs(difference.times[at].after - difference.times[at].before); };
        QVERIFY(size(i) <= size(i - 1));
      }
    }
  }

  void a_plan_does_not_differ_from_itself_and_turned_round_all_changes_sign() {
    for (const auto& [one, other] : pairs()) {
      const PlanDifference none = difference_of(one, one);
      QVERIFY(none.settings.empty() && none.layouts.empty() && none.traffic.empty() && none.times.empty());
      const PlanDifference there = difference_of(one, other), back = difference_of(other, one);
      QCOMPARE(there.settings.size(), back.settings.size());
      QCOMPARE(there.layouts.size(), back.layouts.size());
      QCOMPARE(there.times.size(), back.times.size());
      QCOMPARE(there.traffic.size(), back.traffic.size());
      for (size_t i = 0; i < there.settings.size(); ++i) {
        QCOMPARE(there.settings[i].before, back.settings[i].after);
        QCOMPARE(there.settings[i].after, back.settings[i].before);
      }
    }
  }

  void settings_are_those_that_were_changed_by_their_paths() {
    const std::vector<std::string> changed{"data.batch_size=8", "sharding.zero.stage=1"};
    const PlanDifference difference = difference_of(compile({system_run("tiny_lm_dp", {}), reference_host()}),
                                                    compile({system_run("tiny_lm_dp", changed), reference_host()}));
    QCOMPARE(difference.settings.size(), size_t{2});
    QCOMPARE(difference.settings[0].path, std::string("data.batch_size"));
    QCOMPARE(difference.settings[0].before, std::string("32"));
    QCOMPARE(difference.settings[0].after, std::string("8"));
    QCOMPARE(difference.settings[1].path, std::string("sharding.zero.stage"));
    QCOMPARE(difference.settings[1].before, std::string("0"));
    QCOMPARE(difference.settings[1].after, std::string("1"));
  }

  void what_a_run_file_leaves_out_is_compared_at_its_default() {
    const std::vector<std::tuple<std::string, std::string, std::string>> cases{
        {"schedule.microbatches", "1", "2"},
        {"schedule.overlap", R"("auto")", R"("off")"},
        {"schedule.rematerialise", R"("none")", R"("full")"},
        {"optimizer.b1", "0.9", "0.95"},
        {"deterministic", "true", "false"},
        {"sharding.memory_limit_mib", "", "4096"}};
    const Plan plain = compile({system_run("tiny_lm_dp", {}), reference_host()});
    for (const auto& [path, standard, other] : cases) {
      std::string value = other;
      std::erase(value, '"');
      const std::string own = path + "=" + value;
      const Plan changed = compile({system_run("tiny_lm_dp", {own}), reference_host()});
      for (const bool is_turned : {false, true}) {
        const PlanDifference difference = is_turned ? difference_of(changed, plain) : difference_of(plain, changed);
        QCOMPARE(difference.settings.size(), size_t{1});
        const SettingChange& line = difference.settings.front();
        QCOMPARE(line.path, path);
        QCOMPARE(is_turned ? line.after : line.before, standard);
        QCOMPARE(is_turned ? line.before : line.after, other);
      }
    }
  }

  void every_array_whose_sharding_differs_is_in_a_line_of_that_difference() {
    for (const auto& [one, other] : pairs()) {
      std::map<std::string, std::pair<std::string, std::string>> arrays;
      const auto add = [&](const Plan& plan, auto side) {
        for (const ParameterPlan& parameter : plan.parameters)
          arrays[join_path(parameter.path)].*side = to_string(parameter.sharding, plan.mesh);
        for (const ValueLayout& layout : plan.layouts) {
          std::string& text = arrays[layout.name].*side;
          if (text.empty()) text = to_string(layout.sharding, plan.mesh);
        }
      };
      add(one, &std::pair<std::string, std::string>::first);
      add(other, &std::pair<std::string, std::string>::second);
      const PlanDifference difference = difference_of(one, other);
      int64_t differing = 0, counted = 0;
      for (const auto& [name, texts] : arrays) {
        if (texts.first == texts.second) continue;
        ++differing;
        const bool is_reported = std::ranges::any_of(difference.layouts, [&](const PlanDifference::Layout& line) {
          return line.before == texts.first && line.after == texts.second &&
                 (line.array == name || line.array == pattern_of(name));
        });
        QVERIFY2(is_reported, name.c_str());
      }
      for (const PlanDifference::Layout& line : difference.layouts) {
        counted += line.count;
        QVERIFY(line.count >= 1 && line.count <= line.of);
      }
      QCOMPARE(counted, differing);
    }
  }

  void an_interval_holds_the_mean_as_often_as_it_says() {
    QVERIFY(!mean_interval({5}).half_width && !mean_interval({}).half_width);
    for (const std::vector<double>& few : {std::vector<double>{}, std::vector<double>{5}}) {
      QVERIFY(!difference_interval(few, {1, 2, 3}).half_width && !difference_interval({1, 2, 3}, few).half_width);
      QVERIFY(!difference_interval(few, few).half_width);
    }
    const MeanInterval three = mean_interval({1, 2, 3});
    QVERIFY(std::abs(three.mean - 2) < 1e-12);
    QVERIFY(std::abs(*three.half_width - 4.302653 / std::sqrt(3)) < 1e-5);  // t of 2 degrees of freedom
    std::mt19937 random(7);
    std::normal_distribution<double> normal(10, 3);
    int inside = 0, both = 0;
    constexpr int trials = 2000;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> one(12), other(20);
      for (double& value : one) value = normal(random);
      for (double& value : other) value = normal(random);
      const MeanInterval mean = mean_interval(one), difference = difference_interval(one, other);
      inside += std::abs(mean.mean - 10) <= *mean.half_width;
      both += std::abs(difference.mean) <= *difference.half_width;
    }
    QVERIFY2(std::abs(inside / double(trials) - 0.95) < 0.02, qPrintable(QString::number(inside)));
    QVERIFY2(std::abs(both / double(trials) - 0.95) < 0.02, qPrintable(QString::number(both)));
  }

  void a_step_that_a_restart_did_anew_counts_once_as_it_came_last() {
    ExportSource source;
    source.plan = std::make_shared<const Plan>(compile({system_run("mintext_mlp", {}), reference_host()}));
    source.run.emplace();
    source.run->replay = [](const std::function<void(const Message&)>& take) {
      for (const int64_t step : {0, 1, 2, 3, 2, 3, 4})
        take(StepMessage{step, {{"loss", 1.0}}, step == 0 ? 1000.0 : 10.0 * double(step), {}});
    };
    const MeanInterval interval = step_interval(source);
    QCOMPARE(interval.count, int64_t{4});
    QCOMPARE(interval.mean, 25.0);
    const RunDifference none = difference_of(source, source);
    QCOMPARE(none.steps, int64_t{5});
    QCOMPARE(none.difference_ms.count, interval.count);
  }

  void layers_that_are_alike_have_one_name() {
    QCOMPARE(pattern_of("blocks_12/mlp/w1"), std::string("blocks_*/mlp/w*"));
    QCOMPARE(pattern_of("a/b"), std::string("a/b"));
  }
};

REGISTER_TEST(PlanDifferenceTest)

}  // namespace plan_difference_test

#include "plan_difference_test.moc"
