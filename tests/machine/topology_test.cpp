#include "engine/machine/topology.h"

#include <QTest>
#include <random>

#include "engine/machine/host_machine.h"
#include "tests/base/errors_of.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace topology_test {

using namespace shardscope;

namespace {

std::vector<Level> levels_of(const std::vector<std::vector<int>>& counts) {
  std::vector<Level> levels;
  for (const std::vector<int>& count : counts) levels.emplace_back().count = count;
  return levels;
}

int level_of(const Topology& topology, const std::vector<int>& members) { return topology.level_of(members); }

std::string code_of(const std::vector<std::vector<int>>& counts, int devices) {
  return error_of([&] { Topology(levels_of(counts), devices); }).code;
}

}  // namespace

class TopologyTest : public QObject {
  Q_OBJECT

 private slots:
  void the_worked_example_of_the_header_holds() {
    const Topology topology(levels_of({{4}, {}}), 8);
    QCOMPARE(topology.unit(0, 5), 1);
    QCOMPARE(topology.unit(1, 5), 0);
    QCOMPARE(level_of(topology, {0, 3}), 0);
    QCOMPARE(level_of(topology, {3, 4}), 1);
    QCOMPARE(level_of(topology, {6}), -1);
    QCOMPARE(level_of(topology, {7, 0, 1}), 1);
  }

  void units_hold_consecutive_devices_and_nest() {
    test::RandomMachines random(1);
    for (int i = 0; i < 400; ++i) {
      const Machine machine = random.next();
      const int devices = random.devices(machine);
      const Topology topology(machine.levels, devices);
      for (int level = 0; level < topology.level_count(); ++level) {
        int sum = 0;
        for (int size : topology.unit_sizes(level)) sum += size;
        QCOMPARE(sum, devices);
        for (int device = 1; device < devices; ++device) {
          const int step = topology.unit(level, device) - topology.unit(level, device - 1);
          QVERIFY(step == 0 || (step == 1 && topology.unit(level - 1, device) > topology.unit(level - 1, device - 1)));
        }
      }
      if (topology.level_count() > 0) QCOMPARE(topology.unit_sizes(topology.level_count() - 1).size(), size_t{1});
    }
  }

  void a_host_may_have_as_many_ranks_as_is_said() {
    const Machine machine = with_hosts(standard_host(), {4, 3, 1});
    QCOMPARE(machine.levels.size(), size_t{2});
    const Topology topology(machine.levels, 8);
    QCOMPARE(topology.unit_sizes(0), (std::vector<int>{4, 3, 1}));
    const std::vector<int> hosts = {0, 0, 0, 0, 1, 1, 1, 2};
    for (int rank = 0; rank < 8; ++rank) QCOMPARE(topology.unit(0, rank), hosts[static_cast<size_t>(rank)]);
    QCOMPARE(ranks_on_host(machine, topology), 4);
    const Machine one = with_hosts(standard_host(), {8});
    QCOMPARE(one.levels.size(), size_t{1});
    QCOMPARE(ranks_on_host(one, Topology(one.levels, 8)), 8);
    QCOMPARE(with_hosts(machine, {2, 2}).levels.size(), size_t{2});
  }

  void levels_have_as_many_devices_as_a_run_may_have() {
    const auto limit_of = [](const std::vector<std::vector<int>>& counts) { return device_limit(levels_of(counts)); };
    QCOMPARE(limit_of({}), std::optional<int64_t>(1));
    QCOMPARE(limit_of({{4}, {2}}), std::optional<int64_t>(8));
    QCOMPARE(limit_of({{4, 3, 1}, {}}), std::optional<int64_t>(8));
    QCOMPARE(limit_of({{4}, {}}), std::optional<int64_t>());
    // Of what no unit of the outermost level has, nothing is said how it is reached.
    QCOMPARE(limit_of({{4, 3, 1}, {2}}), std::optional<int64_t>(7));
    QCOMPARE(limit_of({{4, 4}, {1}}), std::optional<int64_t>(4));
    QCOMPARE(limit_of({{2, 2, 2, 2}, {1, 1}, {}}), std::optional<int64_t>(4));
    QCOMPARE(limit_of({{2}, {3, 1}, {4}}), std::optional<int64_t>(8));
  }

  // Every device is in the one unit of the outermost level; one more is refused.
  void as_many_devices_as_there_may_be_are_joined() {
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
      std::vector<std::vector<int>> counts(1 + random() % 3);
      for (std::vector<int>& count : counts) {
        count.resize(1 + random() % 4);
        for (int& one : count) one = static_cast<int>(1 + random() % 4);
      }
      const auto limit = static_cast<int>(*device_limit(levels_of(counts)));
      const Topology topology(levels_of(counts), limit);
      QCOMPARE(topology.unit(topology.level_count() - 1, limit - 1), 0);
      QCOMPARE(code_of(counts, limit + 1), std::string("device_count"));
    }
  }

  void a_run_of_more_devices_than_there_are_is_an_error() {
    QCOMPARE(code_of({}, 1), std::string());
    QCOMPARE(code_of({}, 2), std::string("device_count"));
    QCOMPARE(code_of({{4}, {2}}, 8), std::string());
    QCOMPARE(code_of({{4}, {2}}, 9), std::string("device_count"));
    QCOMPARE(code_of({{4, 3, 1}, {}}, 8), std::string());
    QCOMPARE(code_of({{4, 3, 1}, {}}, 9), std::string("device_count"));
    QCOMPARE(code_of({{4}, {}}, 1000), std::string());
    QVERIFY(error_of([] { Topology(levels_of({{4}}), 5); }).message.find("has 4 devices, the mesh 5") !=
            std::string::npos);
  }
};

REGISTER_TEST(TopologyTest)

}  // namespace topology_test

#include "topology_test.moc"
