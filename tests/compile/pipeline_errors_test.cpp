#include <QtTest>

#include "engine/machine/host_machine.h"
#include "tests/laws/pipeline_case.h"
#include "tests/test_program.h"

namespace pipeline_errors_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Places of the faults of the four-layer network in stages, changed by `change`.
template <class Change>
QStringList places(PipelineCase one, Change change) {
  RunConfig config = in_stages(four_layers(), one);
  change(config);
  QStringList list;
  for (const Error& error : validate(config)) {
    if (error.message.empty() || error.hint.empty()) return {"an error without words"};
    list << QString::fromStdString(to_string(error.place));
  }
  return list;
}
QStringList places(PipelineCase one) {
  return places(std::move(one), [](RunConfig&) {});
}

}  // namespace

class PipelineErrorsTest : public QObject {
  Q_OBJECT

 private slots:
  void what_a_pipeline_cannot_be_is_said_at_its_place() {
    QCOMPARE(places({}), QStringList());
    QCOMPARE(places({"1f1b", 8, {1, 1}}), QStringList("mesh.axes[2].size"));
    QCOMPARE(places({"1f1b", 2, {1, 1}, 3}), QStringList("schedule.microbatches"));
    QCOMPARE(places({"interleaved", 4, {1, 1}, 2}), QStringList("schedule.microbatches"));
    const auto with = [](auto change) { return places({}, change); };
    QCOMPARE(with([](RunConfig& c) { c.pipeline.schedule = "1f2b"; }), QStringList("pipeline.schedule"));
    QCOMPARE(with([](RunConfig& c) { c.pipeline.axis = "stages"; }), QStringList("pipeline.axis"));
    QCOMPARE(with([](RunConfig& c) { c.pipeline.chunks = 2; }), QStringList("pipeline.chunks"));
    QCOMPARE(with([](RunConfig& c) { c.pipeline.layers = {1, 1}; }), QStringList("pipeline.layers"));
    QCOMPARE(with([](RunConfig& c) { c.pipeline.layers = {4}; }), QStringList("pipeline.layers"));
    QCOMPARE(with([](RunConfig& c) { c.pipeline.layers = {1, 3}; }), QStringList());
    QCOMPARE(with([](RunConfig& c) { c.pipeline.schedule = "interleaved", c.pipeline.chunks = 3; }),
             QStringList("pipeline.chunks"));
  }

  void the_axis_of_stages_splits_no_array() {
    const auto with = [](auto change) { return places({}, change); };
    QCOMPARE(with([](RunConfig& c) { c.sharding.in.dims = {{"pipeline"}}; }), QStringList("sharding.in"));
    QCOMPARE(with([](RunConfig& c) { c.sharding.zero = {1, {"pipeline"}}; }), QStringList("sharding.zero.axis"));
    QCOMPARE(with([](RunConfig& c) {
               c.sharding.rules = {{"**", LargestDimension{{"pipeline"}, 0}}};
             }),
             QStringList("sharding.rules[0]"));
    const Plan plan = compile({in_stages(four_layers(), {}), reference_host()});
    for (const ProgramValue& value : plan.program.values) {
      for (int dim = 0; dim < value.sharding.rank; ++dim) {
        for (AxisIndex axis : value.sharding.dims[dim]) QVERIFY(axis != *plan.pipeline.axis);
      }
    }
  }

  void layers_are_cut_such_that_the_slowest_stage_is_fast() {
    const auto layers = [](const std::vector<std::string>& more) {
      return compile({in_stages(four_layers(more), {}), reference_host()}).pipeline.layers;
    };
    QCOMPARE(layers({}), (std::vector<int>{2, 2}));
    QCOMPARE(layers({"model.vocab_size=4096"}), (std::vector<int>{3, 1}));  // a head that outweighs a layer
  }
};

REGISTER_TEST(PipelineErrorsTest)

}  // namespace pipeline_errors_test

#include "pipeline_errors_test.moc"
