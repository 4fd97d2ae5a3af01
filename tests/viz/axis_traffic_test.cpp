#include <QTest>
#include <algorithm>
#include <map>

#include "engine/compile/compile.h"
#include "engine/compile/file_paths.h"
#include "engine/machine/machine_library.h"
#include "tests/test_program.h"
#include "viz/paint/axis_traffic.h"

namespace axis_traffic_test {

using namespace shardscope;

class AxisTrafficTest : public QObject {
  Q_OBJECT

  static Plan plan_of(const std::string& preset, const Machine& machine) {
    RunConfig config = load_run_file(std::string(SHARDSCOPE_SOURCE_DIR) + "/presets/" + preset + ".json");
    config.sharding.mode = LayoutMode::as_written;
    return compile({config, machine});
  }

 private slots:
  // Whatever the stage: no axis carries more than the plan says that a device of some stage sends.
  void its_bytes_are_the_plans() {
    const Machine machine = *library_machine("dgx_h100");
    for (const char* preset : {"llama_tiny", "tiny_lm_fsdp", "nnx_gpt2", "workshop_1f1b", "mixtral_tiny"}) {
      const Plan plan = plan_of(preset, machine);
      double sum = 0, most = 0;
      int exchanges = 0;
      for (const AxisTraffic& traffic : axis_traffic(plan)) {
        sum += traffic.wire_bytes;
        most = std::max(most, traffic.wire_bytes);
        exchanges += traffic.exchanges;
        QVERIFY(traffic.exchanges > 0);
        QVERIFY(traffic.level >= 0);
        const double rate = machine.levels[static_cast<size_t>(traffic.level)].bytes_per_second;
        if (plan.pipeline.axis && traffic.axes.contains(*plan.pipeline.axis))
          QVERIFY2(traffic.seconds >= traffic.wire_bytes / rate, preset);
      }
      QVERIFY(exchanges > 0);
      QVERIFY(most <= plan.totals.wire_bytes_per_device * (1 + 1e-12));
      if (plan.program.stages == 1) QVERIFY2(std::abs(sum - plan.totals.wire_bytes_per_device) <= 1e-9 * sum, preset);
    }
  }

  // 16 devices of hosts of 8: an axis of 2 outside of one of 8 goes over the network, that of 8 does not.
  void its_level_is_where_the_members_are() {
    RunConfig config = load_run_file(SHARDSCOPE_SOURCE_DIR "/presets/llama_tiny.json");
    config.sharding.mode = LayoutMode::as_written;
    config.mesh_axes = {{"data", 8}, {"model", 2}};
    const Machine machine = *library_machine("dgx_h100");
    for (const bool outside : {true, false}) {
      if (!outside) config.mesh_axes = {{"model", 2}, {"data", 8}};
      const Plan plan = compile({config, machine});
      std::map<std::string, int> level;
      for (const AxisTraffic& traffic : axis_traffic(plan))
        if (traffic.axes.count == 1) level[plan.mesh.axes()[traffic.axes.back()].name] = traffic.level;
      QCOMPARE(level.at("data"), outside ? 1 : 0);
      QCOMPARE(level.at("model"), outside ? 0 : 1);
    }
  }

  void heavy_traffic_on_slow_links_is_found() {
    Machine machine;
    machine.levels.resize(2);
    machine.levels[0].bytes_per_second = 400;
    machine.levels[1].bytes_per_second = 50;
    const auto traffic = [](int level, double bytes) {
      AxisTraffic one;
      one.level = level;
      one.wire_bytes = bytes;
      return one;
    };
    const auto slow = slow_traffic({traffic(0, 10), traffic(1, 20)}, machine);
    QVERIFY(slow && slow->slow == 1 && slow->fast == 0);
    QVERIFY(!slow_traffic({traffic(0, 20), traffic(1, 10)}, machine));
    QVERIFY(!slow_traffic({traffic(1, 20), traffic(1, 10)}, machine));
    machine.levels[1].bytes_per_second = 300;
    QVERIFY(!slow_traffic({traffic(0, 10), traffic(1, 20)}, machine));
  }
};

REGISTER_TEST(AxisTrafficTest)

}  // namespace axis_traffic_test

#include "axis_traffic_test.moc"
