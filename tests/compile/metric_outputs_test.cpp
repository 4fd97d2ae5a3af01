#include "engine/compile/metric_outputs.h"

#include <QTest>

#include "engine/compile/compile.h"
#include "engine/compile/settings.h"
#include "engine/config/strategy.h"
#include "engine/machine/host_machine.h"
#include "engine/plan/value_lives.h"
#include "tests/compile/preset.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"

namespace metric_outputs_test {

using namespace shardscope;
using namespace shardscope::test;

class MetricOutputsTest : public QObject {
  Q_OBJECT

 private slots:
  void metrics_are_the_scalar_outputs_with_the_loss_first() {
    Graph graph;
    const auto add = [&](const std::string& name, Shape shape, DType dtype) {
      graph.outputs[name] = graph.add_input(name, {std::move(shape), dtype});
    };
    QVERIFY(metric_outputs(graph).empty());
    add("logits", {4, 8}, DType::f32);
    add("one", {1}, DType::f32);
    add("count", {}, DType::i32);
    QVERIFY(metric_outputs(graph).empty());
    add("z_loss", {}, DType::f32);
    add("accuracy", {}, DType::f32);
    QCOMPARE(metric_outputs(graph), (std::vector<std::string>{"accuracy", "z_loss"}));
    add("loss", {}, DType::f32);
    QCOMPARE(metric_outputs(graph), (std::vector<std::string>{"loss", "accuracy", "z_loss"}));
  }

  void a_plan_has_its_models_metrics_as_whole_scalars_on_every_device() {
    const Plan plan = compile({test::preset("parallax_decoder", {4, 2}, LayoutMode::fastest), reference_host()});
    QCOMPARE(metric_names(plan.metrics), (std::vector<std::string>{"loss", "accuracy"}));
    for (const Metric& metric : plan.metrics) {
      const ProgramValue& value = plan.program.values.at(metric.values.at(0));
      QVERIFY(value.shape.empty() && value.dtype == DType::f32);
      QVERIFY(value.sharding == Sharding::replicated(0));
    }
  }

  // Rank 0 reads them behind the update, on whatever stage it is.
  void what_a_step_reports_is_there_when_it_ends_data() {
    QTest::addColumn<QString>("preset");
    for (const char* preset : {"mixtral_tiny", "deepseek_v3_tiny", "nnx_gpt2"}) QTest::newRow(preset) << preset;
  }
  void what_a_step_reports_is_there_when_it_ends() {
    QFETCH(QString, preset);
    RunConfig base = with_settings(system_run(preset.toStdString(), {}), {"optimizer.clip_by_global_norm=1"});
    int staged = 0;
    for (const StrategyConfig& strategy : std::initializer_list<StrategyConfig>{
             {.tensor = 2, .pipeline = 2, .microbatch_size = 2},
             {.pipeline = 2, .microbatch_size = 8},
             {.data = 2, .pipeline = 2, .zero = 1, .microbatch_size = 1},
             {.data = 2, .tensor = 2},
             {.fsdp = 2, .pipeline = 2, .pipeline_schedule = "gpipe", .microbatch_size = 2}}) {
      const RunConfig config = with_strategy(base, strategy);
      if (!validate(config).empty()) continue;
      const Plan plan = compile({config, reference_host()});
      staged += plan.arenas.size() > 1;
      std::vector<std::vector<int>> reported;
      for (const Metric& metric : plan.metrics) {
        if (metric.source == MetricSource::step) reported.push_back(metric.values);
      }
      for (const ExpertLayer& layer : plan.expert_layers) {
        reported.push_back(layer.chosen);
        if (!layer.dropped.empty()) reported.push_back(layer.dropped);
      }
      for (const std::vector<int>& values : reported) {
        for (size_t stage = 0; stage < plan.arenas.size(); ++stage) {
          const ArenaLayout& arena = plan.arenas[stage];
          const auto value = static_cast<size_t>(values[stage]);
          QCOMPARE(arena.buffers[static_cast<size_t>(arena.buffer_of[value])].last, arena.length - 1);
          QCOMPARE(value_lives(plan.program, *plan.graph, static_cast<int>(stage))[value].last, arena.length - 1);
        }
      }
    }
    QVERIFY(staged > 2);
  }
};

REGISTER_TEST(MetricOutputsTest)

}  // namespace metric_outputs_test

#include "metric_outputs_test.moc"
