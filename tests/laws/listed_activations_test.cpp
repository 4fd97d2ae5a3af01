#include <QtTest>

#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace listed_activations_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

ThreadTraining trained(const std::vector<int64_t>& mesh, const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{
      R"(model.layers=["linear 32","silu","linear 32","gated_silu","linear 16","gelu","linear 16","gelu_exact",)"
      R"("linear 16","soft_cap 3","linear 8"])",
      "model.input=24", "pipeline.layers=[]"};
  settings.insert(settings.end(), more.begin(), more.end());
  const Plan plan = compile({system_run("workshop_gpipe", settings, mesh), reference_host()});
  ThreadTraining training = train_in_threads(plan, serial_steps);
  compare_with_prediction(training, plan);
  return training;
}

}  // namespace

// Layers of `sequential` between its linear ones.
class ListedActivationsTest : public QObject {
  Q_OBJECT

 private slots:
  void networks_with_them_train_on_every_mesh_as_on_one_device() {
    const ThreadTraining alone = trained({1, 1});
    const std::string kernels = R"(sharding.parameters={"params":{"**":{"kernel":[null,"data"]}}})";
    for (const ThreadTraining& training :
         {trained({2, 1}), trained({1, 3}), trained({2, 2}), trained({2, 1}, {kernels, "sharding.in=[]"}),
          trained({4, 1}, {kernels, "sharding.mode=fastest", "schedule.rematerialise=full"}),
          trained({2, 2}, {"pipeline.schedule=1f1b"})}) {
      compare_with_serial(training, alone, 1e-3, is_key_bias);
    }
  }
};

REGISTER_TEST(ListedActivationsTest)

}  // namespace listed_activations_test

#include "listed_activations_test.moc"
