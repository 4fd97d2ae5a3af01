#include "engine/lint/what_next.h"

#include <QTest>
#include <algorithm>

#include "engine/config/strategy.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace what_next_test {

using namespace shardscope;
using namespace shardscope::test;

class WhatNextTest : public QObject {
  Q_OBJECT

 private slots:
  void each_notch_is_legal_and_takes_what_is_said_the_best_first() {
    size_t machines = 0;
    for (const SystemPreset& one : system_presets()) {
      const RunConfig config = system_run(one.name, one.small);
      const Plan plan = compile({config, unlike_machines()[machines++ % 3]});
      const WhatNext next = what_next(plan);
      QCOMPARE(next.now.seconds, plan.totals.seconds_per_step);
      for (size_t i = 0; i < next.notches.size(); ++i) {
        const Notch& notch = next.notches[i];
        const RunConfig changed = with_settings(config, notch.settings);
        QVERIFY(!(changed == config));
        const Plan after = compile({changed, plan.machine});
        QCOMPARE(after.totals.seconds_per_step, notch.after.seconds);
        QCOMPARE(after.totals.memory_total, notch.after.bytes);
        QCOMPARE(after.mesh.device_count(), plan.mesh.device_count());
        if (i > 0 && notch.after.excess_bytes == next.notches[i - 1].after.excess_bytes)
          QVERIFY(notch.after.seconds >= next.notches[i - 1].after.seconds);
      }
    }
  }

  // 0 would be all rows at once.
  void microbatches_of_one_row_are_not_cut_again() {
    StrategyConfig strategy;
    strategy.data = 2;
    strategy.microbatch_size = 1;
    const SystemPreset& small = *std::ranges::find(system_presets(), "nnx_gpt2", &SystemPreset::name);
    const Plan plan = compile({with_strategy(system_run(small.name, small.small), strategy), reference_host()});
    const WhatNext next = what_next(plan);
    const auto has = [&](const char* setting) {
      return std::ranges::count(next.notches, Settings{setting}, &Notch::settings) > 0;
    };
    QVERIFY(has("strategy.microbatch_size=2"));
    QVERIFY(!has("strategy.microbatch_size=0"));
  }

  void rematerialisation_is_a_notch_that_saves_memory() {
    const Plan plan = compile({system_run("workshop_memory", {"schedule.rematerialise=none"}), reference_host()});
    const WhatNext next = what_next(plan);
    const auto full = std::ranges::find(next.notches, Settings{"schedule.rematerialise=full"}, &Notch::settings);
    QVERIFY(full != next.notches.end());
    QVERIFY(full->after.bytes < next.now.bytes && full->after.seconds > next.now.seconds);
  }
};

REGISTER_TEST(WhatNextTest)

}  // namespace what_next_test

#include "what_next_test.moc"
