#include <QtTest>

#include <algorithm>

#include "engine/graph/op_definition.h"
#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace listed_layers_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct ListedRun {
  const char* name;
  std::string input, layers;
};

const std::vector<ListedRun>& networks() {
  static const std::vector<ListedRun> all{
      {"joined rows", "24",
       R"(["h = linear 32", "g = silu", "u = linear 32 from h", "multiply g", "concatenate h g", "slice 16:80", )"
       R"("linear 32", "add h", "a = slice :8", "slice 24: from h", "multiply a", "linear 8"])"},
      {"sequences", "8x16",
       R"(["linear 32", "q = rotary heads 2", "k = linear 32", "rotary base 500", "multiply q", "add k", "slice :12", )"
       R"("flatten", "linear 8"])"},
      {"heads", "8x4x6", R"(["k = linear 8", "rotary", "gelu", "concatenate k", "linear 8"])"},
      {"experts of rows", "24",
       R"(["x = linear 16", "linear 4", "r = top_k 2 normalised", "dispatch r from x", "expert_linear 32", )"
       R"("gated_silu", "expert_linear 16", "combine", "add x", "linear 8"])"},
      {"experts of sequences", "8x16",
       R"(["x = linear 16", "s = linear 8", "r = top_k 3 sigmoid scale 1.5", "a = dispatch r from x", )"
       R"("expert_linear 12", "g = silu", "u = expert_linear 12 from a", "multiply g", "expert_linear 16", )"
       R"("combine", "add x", "x2 = linear 16", "r2 = top_k 1 from s", "dispatch r2 from x2", "expert_linear 16", )"
       R"("combine", "linear 8"])"},
      {"six experts and eight", "24",
       R"(["x = linear 16", "linear 8", "r = top_k 2", "dispatch r from x", "expert_linear 16", "combine", )"
       R"("x2 = add x", "linear 6", "r2 = top_k 2", "dispatch r2 from x2", "expert_linear 16", "combine", "linear 8"])"},
      {"eight experts behind six", "24",
       R"(["x = linear 16", "linear 6", "r = top_k 2", "dispatch r from x", "expert_linear 16", "combine", )"
       R"("x2 = add x", "linear 8", "r2 = top_k 2", "dispatch r2 from x2", "expert_linear 16", "combine", "linear 8"])"}};
  return all;
}

RunConfig run_of(const ListedRun& network, const std::vector<MeshAxis>& axes, const PartitionSpec& in,
                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{"model.layers=" + network.layers, "model.input=" + network.input,
                                    "pipeline.layers=[]", "schedule.microbatches=1"};
  settings.insert(settings.end(), more.begin(), more.end());
  RunConfig config = system_run("workshop_gpipe", settings);
  if (axes.empty()) return config;
  config.mesh_axes = axes;
  config.pipeline = {};
  config.sharding.in = config.sharding.out = in;
  return config;
}

Plan plan_of(const RunConfig& config) { return compile({config, reference_host()}); }

ThreadTraining trained(const Plan& plan) {
  ThreadTraining training = train_in_threads(plan, serial_steps);
  compare_with_prediction(training, plan);
  return training;
}

ThreadTraining alone(const ListedRun& network) {
  return trained(plan_of(run_of(network, {}, {}, {"mesh.data=1", "mesh.pipeline=1"})));
}

const ListedRun& network_named(const QString& name) {
  return *std::ranges::find(networks(), name.toStdString(), [](const ListedRun& run) { return std::string(run.name); });
}

void rows_of_networks(bool experts_only) {
  QTest::addColumn<QString>("name");
  for (const ListedRun& network : networks()) {
    if (!experts_only || network.layers.find("dispatch") != std::string::npos) {
      QTest::newRow(network.name) << network.name;
    }
  }
}

int counted_exchanges(const Plan& plan) {
  return static_cast<int>(std::ranges::count_if(plan.instructions(), [](const Instruction& instruction) {
    const CollectiveStart* start = instruction.as<CollectiveStart>();
    return start && start->counted;
  }));
}

}  // namespace

// Layers of `sequential` that have names and take each other's results, and layers of experts.
class ListedLayersTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 1.
  void every_mesh_trains_as_one_device_data() { rows_of_networks(false); }
  void every_mesh_trains_as_one_device() {
    QFETCH(QString, name);
    const ListedRun& network = network_named(name);
    const ThreadTraining expected = alone(network);
    for (const std::vector<int64_t>& mesh : meshes_of(2, 4)) {
      for (const char* mode : {"as_written", "fastest"}) {
        const std::vector<std::string> settings{std::string("sharding.mode=") + mode,
                                                R"(sharding.rules=[{"axes": {"features": "model", "out": "model"}}])"};
        const RunConfig config =
            run_of(network, {{"data", mesh[0]}, {"model", mesh[1]}}, PartitionSpec{{{"data"}}}, settings);
        compare_with_serial(trained(plan_of(config)), expected, 1e-3, is_key_bias);
      }
    }
  }

  // Values that pass over stages, and rows that are at their experts between two of them.
  void stages_train_as_one_device_data() { rows_of_networks(false); }
  void stages_train_as_one_device() {
    QFETCH(QString, name);
    const ListedRun& network = network_named(name);
    const ThreadTraining expected = alone(network);
    for (const char* schedule : {"gpipe", "1f1b", "zero_bubble"}) {
      for (const char* stages : {"2", "3"}) {
        if (std::string(stages) == "3" && name == "heads") continue;
        const RunConfig config = run_of(network, {}, {},
                                        {"mesh.data=2", std::string("mesh.pipeline=") + stages,
                                         std::string("pipeline.schedule=") + schedule, "schedule.microbatches=4"});
        compare_with_serial(trained(plan_of(config)), expected, 1e-3, is_key_bias);
      }
    }
  }

  // Rows of all devices travel to those that have the experts.
  void experts_split_over_devices_train_as_one_data() { rows_of_networks(true); }
  void experts_split_over_devices_train_as_one() {
    QFETCH(QString, name);
    const ListedRun& network = network_named(name);
    const ThreadTraining expected = alone(network);
    for (const std::vector<int64_t>& mesh : std::vector<std::vector<int64_t>>{{1, 2}, {2, 2}, {1, 4}}) {
      for (const char* mode : {"as_written", "fastest"}) {
        for (const char* policy : {"none", "full"}) {
          const RunConfig config =
              run_of(network, {{"data", mesh[0]}, {"expert", mesh[1]}}, PartitionSpec{{{"data", "expert"}}},
                     {std::string("sharding.mode=") + mode, std::string("schedule.rematerialise=") + policy,
                      R"(sharding.rules=[{"axes": {"experts": "expert"}}])"});
          const Plan plan = plan_of(config);
          if (std::string(mode) == "as_written") QVERIFY(counted_exchanges(plan) > 0);
          compare_with_serial(trained(plan), expected, 1e-3, is_key_bias);
        }
      }
    }
  }
};

REGISTER_TEST(ListedLayersTest)

}  // namespace listed_layers_test

#include "listed_layers_test.moc"
