#include "engine/simulate/streams.h"

#include <QTest>

#include "engine/machine/host_machine.h"
#include "engine/machine/machine_prices.h"
#include "tests/test_program.h"

namespace streams_test {

using namespace shardscope;

namespace {

// Groups over each axis of a mesh of 2 x 4, on hosts of so many ranks.
Streams streams_of(const std::vector<int>& ranks_per_host) {
  const Mesh mesh({{"data", 2}, {"model", 4}});
  const MachinePrices prices(with_hosts(standard_host(), ranks_per_host), 8);
  const std::vector<int> levels{prices.place(mesh, {0}).level(), prices.place(mesh, {1}).level()};
  return streams_on(prices.machine(), levels);
}

}  // namespace

class StreamsTest : public QObject {
  Q_OBJECT

 private slots:
  void collectives_between_hosts_run_beside_computation_and_those_within_one_do_not() {
    const Streams streams = streams_of({4, 4});
    QCOMPARE(streams.names.size(), size_t{3});
    QCOMPARE(streams.names.back(), std::string("network"));
    QCOMPARE(streams.of_group[0], 2);  // data: across
    QCOMPARE(streams.of_group[1], 1);  // model: within
    QVERIFY(streams.find(Streams::compute, 2) && streams.find(2, Streams::compute));
    QVERIFY(!streams.find(Streams::compute, 1) && !streams.find(1, 2));
    QVERIFY(streams.may_hide_communication());
  }

  void on_one_host_nothing_overlaps() {
    const Streams streams = streams_of({8});
    QVERIFY(streams.of_group[0] == 1 && streams.of_group[1] == 1);
    QVERIFY(!streams.may_hide_communication());
    QVERIFY(!Streams().may_hide_communication());
  }

  void slow_downs_are_those_of_the_machines_rule_either_way_round() {
    Machine machine = with_hosts(standard_host(), {1, 1});
    machine.overlap = {{"compute", "network", 1.5, 1.25, ""}};
    const Streams streams = streams_on(machine, std::vector<int>{1});
    const auto there = streams.find(Streams::compute, 2), back = streams.find(2, Streams::compute);
    QVERIFY(there && back);
    QVERIFY(there->of_first == 1.5 && there->of_second == 1.25);
    QVERIFY(back->of_first == 1.25 && back->of_second == 1.5);
  }
};

REGISTER_TEST(StreamsTest)

}  // namespace streams_test

#include "streams_test.moc"
