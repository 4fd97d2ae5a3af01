#include "engine/compile/metric_outputs.h"

#include <QTest>

#include "engine/compile/compile.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/preset.h"
#include "tests/test_program.h"

namespace metric_outputs_test {

using namespace shardscope;

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
};

REGISTER_TEST(MetricOutputsTest)

}  // namespace metric_outputs_test

#include "metric_outputs_test.moc"
