#include <fmt/format.h>

#include <QtTest>
#include <cmath>
#include <set>

#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/chosen_machine.h"
#include "engine/ops/dispatch.h"
#include "engine/plan/stack_memory.h"
#include "engine/shard/work_prices.h"
#include "tests/test_program.h"

// Rows that are sent to experts: room is made for the most there may be, and priced is what is expected.
namespace counted_rows_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

const char* const presets[] = {"mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"};
const char* const capacities[] = {"0", "1", "1.5"};

// Tokens are split over data and expert, experts over expert.
RunConfig run_of(const std::string& preset, int64_t experts, const std::string& capacity, LayoutMode mode) {
  std::vector<std::string> settings = system_preset(preset).small;
  if (capacity != "0") settings.push_back("model.capacity_factor=" + capacity);
  RunConfig config = system_run(preset, settings);
  config.mesh_axes = {{"data", 2}, {"expert", experts}, {"model", 1}};
  config.sharding = {};
  config.sharding.mode = mode;
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data", "expert"}, {}}};
  config.sharding.rules = {rule_for_experts()};
  config.schedule.overlap = OverlapMode::off;
  return config;
}

template <class Visit>
void each_run(LayoutMode mode, const Visit& visit) {
  for (const char* preset : presets) {
    for (int64_t experts : {2, 4}) {
      for (const char* capacity : capacities) visit(run_of(preset, experts, capacity, mode));
    }
  }
}

// Of all rows (q, p, c, ...) those that hold something where all experts are chosen equally often.
double expected_share(const Graph& graph) {
  for (const Op& op : graph.ops) {
    if (op.definition->name() != "dispatch") continue;
    const Shape& choices = graph.type(op.inputs[1]).shape;
    const Shape& rows = graph.type(op.outputs[0]).shape;
    const auto chosen = static_cast<double>(choices[0] * choices[1] * choices[2]);
    return std::min(1.0, chosen / static_cast<double>(rows[0] * rows[1] * rows[2]));
  }
  return 0;
}

}  // namespace

class CountedRowsTest : public QObject {
  Q_OBJECT

 private slots:
  void an_exchange_is_priced_at_the_rows_that_are_expected() {
    std::set<double> shares;
    each_run(LayoutMode::as_written, [&](const RunConfig& config) {
      const Plan plan = compile({config, reference_host()});
      const WorkPrices prices(plan.machine, plan.mesh);
      const double share = expected_share(*plan.graph);
      shares.insert(share);
      int exchanges = 0;
      for (size_t t = 0; t < plan.program.tasks.size(); ++t) {
        const std::vector<Instruction>& list = plan.program.tasks[t].instructions;
        for (size_t i = 0; i < list.size(); ++i) {
          const CollectiveStart* start = list[i].as<CollectiveStart>();
          if (!start || !start->counted) continue;
          ++exchanges;
          const double expected =
              prices.collective(start->kind, static_cast<double>(start->payload_bytes) * share, start->axes);
          QCOMPARE(plan.instruction_seconds.tasks[t][i], expected);
          QVERIFY(plan.cause(list[i]).find("of those that are expected") != std::string::npos);
        }
      }
      QVERIFY2(exchanges > 0, write_run_config(config).c_str());
    });
    QVERIFY(shares.size() > 3);
  }

  // Law 9, of experts.
  void the_search_prices_what_is_predicted() {
    each_run(LayoutMode::fastest, [&](const RunConfig& config) {
      const Plan plan = compile({config, reference_host()});
      const double priced = std::min(plan.priced_seconds.chosen, plan.priced_seconds.as_written);
      const double predicted = plan.totals.seconds_per_step;
      const std::string words = fmt::format("{:.9g} {:.9g}\n{}", priced, predicted, write_run_config(config));
      QVERIFY2(std::abs(priced - predicted) <= 1e-9 * predicted, words.c_str());
    });
  }

  // A stack without padding holds and touches what is expected.
  void a_stack_may_hold_the_rows_that_are_expected() {
    const auto plan_of = [](RunConfig config, const char* counted) {
      config.machine = machine_choice("dgx_h100");
      config.stack = fmt::format(R"({{"name": "megatron", "memory": {{"counted_rows": {}}}}})", counted);
      return compile(plan_request(config));
    };
    each_run(LayoutMode::as_written, [&](const RunConfig& config) {
      const Plan all = plan_of(config, "false"), expected = plan_of(config, "true");
      const double share = expected_share(*all.graph);
      const ArenaLayout held = arrays_of_stack(expected, 0);
      double narrowest = 1;
      for (const Buffer& array : held.buffers) {
        if (array.value < 0) continue;
        const ProgramValue& value = expected.program.values[static_cast<size_t>(array.value)];
        if (expected.graph->values[static_cast<size_t>(value.graph_value)].name.find("/dispatch") == std::string::npos)
          continue;
        narrowest = std::min(narrowest, static_cast<double>(array.bytes) / static_cast<double>(value.bytes()));
      }
      QVERIFY2(std::abs(narrowest - share) < 0.01, fmt::format("{} {}", narrowest, share).c_str());
      if (share == 1) return;
      // The peak may be where no rows are.
      QVERIFY(expected.totals.memory_total <= all.totals.memory_total);
      QVERIFY(expected.totals.seconds_per_step <= all.totals.seconds_per_step * (1 + 1e-9));
    });
  }
};

REGISTER_TEST(CountedRowsTest)

}  // namespace counted_rows_test

#include "counted_rows_test.moc"
