#include <fmt/format.h>

#include <QTest>
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/compile/compile.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/preset.h"
#include "tests/compile/random_run.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace layout_modes_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr int run_count = 100;

Plan planned(RunConfig config, LayoutMode mode, const Machine& machine) {
  config.sharding.mode = mode;
  return compile({config, machine});
}

// The presets on all their meshes, then random runs.
std::vector<RunConfig> runs(uint32_t seed) {
  std::vector<RunConfig> configs;
  for (const std::string& name : preset_names) {
    for (MeshSizes mesh : preset_meshes) configs.push_back(preset(name, mesh, LayoutMode::fastest));
  }
  RandomRuns random(seed);
  for (int i = 0; i < run_count; ++i) configs.push_back(random.next());
  return configs;
}

}  // namespace

class LayoutModesTest : public QObject {
  Q_OBJECT

 private slots:
  void as_written_the_program_is_the_same_on_every_machine() {
    for (const RunConfig& config : runs(1)) {
      std::set<std::string> programs;
      for (const Machine& machine : unlike_machines())
        programs.insert(program_of(planned(config, LayoutMode::as_written, machine)));
      QVERIFY2(programs.size() == 1, write_run_config(config).c_str());
    }
  }

  void fastest_is_never_slower_than_as_written() {
    for (const RunConfig& config : runs(2)) {
      for (const Machine& machine : unlike_machines()) {
        const double written = planned(config, LayoutMode::as_written, machine).totals.seconds_per_step;
        const double fastest = planned(config, LayoutMode::fastest, machine).totals.seconds_per_step;
        QVERIFY2(fastest <= written, (std::to_string(fastest / written) + "\n" + write_run_config(config)).c_str());
      }
    }
  }

  // Law 9, where one stage does one thing after the other.
  void the_search_prices_what_is_predicted() {
    int searched = 0;
    for (RunConfig config : runs(4)) {
      if (!config.pipeline.axis.empty()) continue;
      config.schedule.overlap = OverlapMode::off;
      for (const Machine& machine : unlike_machines()) {
        const Plan fastest = planned(config, LayoutMode::fastest, machine);
        const double written = planned(config, LayoutMode::as_written, machine).totals.seconds_per_step;
        const auto [chosen, as_written] = fastest.priced_seconds;
        const auto agree = [&](double priced, double predicted) {
          const std::string words = fmt::format("{:.9g} {:.9g}\n{}", priced, predicted, write_run_config(config));
          QVERIFY2(std::abs(priced - predicted) <= 1e-9 * predicted, words.c_str());
        };
        agree(as_written, written);
        agree(std::min(chosen, as_written), fastest.totals.seconds_per_step);
        searched += chosen < as_written;
      }
    }
    QVERIFY(searched > run_count);
  }

  // The limit: a little less than what fastest takes without one.
  void under_a_limit_fastest_fits_and_is_no_slower_wherever_as_written_fits() {
    int smaller = 0, fitting = 0;
    for (const RunConfig& config : runs(3)) {
      const Plan free = planned(config, LayoutMode::fastest, reference_host());
      Machine tight = reference_host();
      const int64_t limit = free.totals.memory_total * 97 / 100;
      tight.device.memory_bytes = limit * free.mesh.device_count();
      const Plan limited = planned(config, LayoutMode::fastest, tight);
      const Plan written = planned(config, LayoutMode::as_written, tight);
      smaller += limited.totals.memory_total < free.totals.memory_total;
      if (written.totals.memory_total > limit) continue;
      ++fitting;
      QVERIFY2(limited.totals.memory_total <= limit, write_run_config(config).c_str());
      QVERIFY2(limited.totals.seconds_per_step <= written.totals.seconds_per_step, write_run_config(config).c_str());
    }
    QVERIFY2(smaller > 10 && fitting > 0, (std::to_string(smaller) + " " + std::to_string(fitting)).c_str());
  }

  void a_limit_of_the_run_file_is_kept_or_reported() {
    RunConfig config = preset("parallax_decoder", {4, 2}, LayoutMode::fastest);
    const int64_t free = compile({config, reference_host()}).totals.memory_total;
    auto reported = [](const Plan& plan) {
      return std::any_of(plan.warnings.begin(), plan.warnings.end(),
                         [](const Error& warning) { return to_string(warning.place) == "sharding.memory_limit_mib"; });
    };
    config.sharding.memory_limit_mib = (free >> 20) * 19 / 20;
    const Plan kept = compile({config, reference_host()});
    QVERIFY(kept.totals.memory_total <= *config.sharding.memory_limit_mib << 20);
    QVERIFY(!reported(kept));
    config.sharding.memory_limit_mib = 1;
    QVERIFY(reported(compile({config, reference_host()})));
  }
};

REGISTER_TEST(LayoutModesTest)

}  // namespace layout_modes_test

#include "layout_modes_test.moc"
