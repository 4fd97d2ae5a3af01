#include "engine/plan/strategy.h"

#include <QTest>
#include <cmath>

#include "tests/test_program.h"

namespace strategy_test {

using namespace shardscope;

namespace {

constexpr int64_t device_counts[] = {1, 2, 3, 6, 8, 9, 12, 16, 20, 64, 100, 1024};

}  // namespace

class StrategyTest : public QObject {
  Q_OBJECT

 private slots:
  // What the document's Python gives, called so.
  void the_documents_function_is_its_python() {
    struct Case {
      double parameters;
      int64_t devices;
      double gigabytes;
      std::string strategy;
      std::vector<int64_t> mesh;
    };
    for (const Case& c : std::vector<Case>{{175, 64, 40, "data_parallel", {64}},
                                           {175e9, 64, 40, "data_parallel", {64}},
                                           {175e9, 8, 40, "tensor_parallel", {1, 8}},
                                           {175e9, 32, 40, "hybrid_3d", {4, 4, 2}},
                                           {175e9, 20, 40, "hybrid_3d", {2, 4, 2}},
                                           {175e9, 12, 40, "hybrid_3d", {1, 4, 3}},
                                           {175e9, 30, 40, "tensor_parallel", {1, 30}},
                                           {4e9, 1, 40, "data_parallel", {1}},
                                           {4.1e9, 1, 40, "tensor_parallel", {1, 1}}}) {
      const SelectedStrategy selected = select_parallelism_strategy(c.parameters, c.devices, c.gigabytes);
      QCOMPARE(selected.strategy, c.strategy);
      QVERIFY(selected.mesh_shape == c.mesh);
      QCOMPARE(selected.mesh_axis_names.size(), c.mesh.size());
    }
    QVERIFY(select_parallelism_strategy(175e9, 64, 40).divided);
    QVERIFY(!select_parallelism_strategy(175, 64, 40).divided);
  }

  void every_common_strategy_uses_all_devices_and_has_a_name_of_its_own() {
    for (int64_t devices : device_counts) {
      std::vector<std::string> names;
      for (const Strategy& strategy : common_strategies(devices)) {
        QCOMPARE(strategy.devices(), devices);
        QVERIFY(std::ranges::count(names, strategy.name) == 0);
        names.push_back(strategy.name);
      }
    }
    QCOMPARE(common_strategies(1).size(), size_t{1});
    QCOMPARE(common_strategies(64).size(), size_t{10});
  }

  // Rajbhandari et al., figure 1: 7.5e9 parameters on 64 devices take 120, 31.4, 16.6 and 1.9 GB.
  void zero_takes_what_its_paper_says() {
    const double paper[] = {120, 31.4, 16.6, 1.9};
    for (int stage = 0; stage <= 3; ++stage) {
      const double bytes = state_bytes({"", 64, 1, 1, stage}, 7.5e9, state_bytes_kinds[1]);
      QVERIFY2(std::abs(bytes / 1e9 - paper[stage]) <= 0.05, std::to_string(bytes).c_str());
    }
  }

  void no_strategy_holds_less_than_its_share_nor_more_than_all() {
    for (const StateBytes& bytes : state_bytes_kinds) {
      for (int64_t devices : device_counts) {
        const double all = 1e9 * bytes.total();
        for (const Strategy& strategy : common_strategies(devices)) {
          const double held = state_bytes(strategy, 1e9, bytes);
          QVERIFY(held <= all && held * static_cast<double>(devices) >= all * (1 - 1e-12));
        }
      }
    }
  }
};

REGISTER_TEST(StrategyTest)

}  // namespace strategy_test

#include "strategy_test.moc"
