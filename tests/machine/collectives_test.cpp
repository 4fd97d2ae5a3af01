#include <QTest>

#include "engine/base/error.h"
#include "engine/machine/machine_prices.h"
#include "tests/base/errors_of.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace collectives_test {

using namespace shardscope;

namespace {

constexpr InstructionKind collectives[] = {InstructionKind::all_gather, InstructionKind::all_reduce,
                                           InstructionKind::reduce_scatter, InstructionKind::all_to_all,
                                           InstructionKind::collective_permute};
constexpr Algorithm algorithms[] = {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical, Algorithm::direct};
constexpr int cases = 400;

bool at_least(double value, double least) { return value >= least - 1e-12 * std::abs(least); }
bool same(double a, double b) { return at_least(a, b) && at_least(b, a); }

Level level(const char* name, std::vector<int> count, LevelKind kind, double rate, double latency, int shared_by = 1) {
  Level level;
  level.name = name;
  level.count = std::move(count);
  level.kind = kind;
  level.bytes_per_second = rate;
  level.latency = latency;
  level.shared_by = shared_by;
  return level;
}

Machine on_levels(std::vector<Level> levels) {
  Machine machine;
  machine.device.memory = {{"memory", 0, 1e12, false, ""}};
  machine.device.products[Precision::f32].flops_per_second = 1e12;
  machine.levels = std::move(levels);
  return machine;
}

// The worked example of collective_seconds.h: 2 hosts of 4 devices.
Machine two_hosts(int shared_by = 1) {
  return on_levels({level("host", {4}, LevelKind::switched, 100e9, 1e-6),
                    level("network", {}, LevelKind::switched, 10e9, 5e-6, shared_by)});
}

double by(Algorithm algorithm, InstructionKind kind, double payload, const GroupPlacement& groups) {
  CollectiveRule rule;
  rule.algorithm = algorithm;
  return collective_seconds(kind, payload, groups, rule);
}

std::vector<int> levels_used(const GroupPlacement& placement) {
  std::vector<int> levels;
  for (const LevelTraffic& traffic : placement.levels) levels.push_back(traffic.level);
  return levels;
}

}  // namespace

class CollectivesTest : public QObject {
  Q_OBJECT

 private slots:
  void the_worked_example_of_the_header_holds() {
    const MachinePrices prices(two_hosts(), 8);
    const GroupPlacement all = prices.place(std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}});
    QVERIFY(same(by(Algorithm::ring, InstructionKind::all_reduce, 80e6, all), 0.022e-3 + 3.5e-3));
    QVERIFY(same(by(Algorithm::hierarchical, InstructionKind::all_reduce, 80e6, all), 1.206e-3 + 2.01e-3));
  }

  // Among n equal devices of one switch (Thakur, Rabenseifner & Gropp 2005), a = latency, b = s/byte.
  void on_one_switch_prices_are_the_closed_formulas() {
    const double a = 3e-6, b = 1 / 25e9, n = 1e6;
    for (int p = 2; p <= 17; ++p) {
      const MachinePrices prices(on_levels({level("switch", {}, LevelKind::switched, 1 / b, a)}), p);
      std::vector<int> members;
      for (int i = 0; i < p; ++i) members.push_back(i);
      const GroupPlacement all = prices.place(std::vector<std::vector<int>>{members});
      const double part = (p - 1.0) / p, rounds = std::ceil(std::log2(p));
      for (InstructionKind kind :
           {InstructionKind::all_gather, InstructionKind::reduce_scatter, InstructionKind::all_to_all}) {
        QVERIFY(same(by(Algorithm::ring, kind, n, all), (p - 1) * a + part * n * b));
        QVERIFY(same(by(Algorithm::hierarchical, kind, n, all), (p - 1) * a + part * n * b));
        QVERIFY(same(by(Algorithm::direct, kind, n, all), a + part * n * b));
        const double messages = kind == InstructionKind::all_to_all ? p - 1 : rounds;
        QVERIFY(same(by(Algorithm::tree, kind, n, all), messages * a + part * n * b));
      }
      QVERIFY(same(by(Algorithm::ring, InstructionKind::all_reduce, n, all), 2 * (p - 1) * a + 2 * part * n * b));
      QVERIFY(same(by(Algorithm::tree, InstructionKind::all_reduce, n, all), 2 * rounds * a + 2 * part * n * b));
      for (Algorithm algorithm : algorithms) {
        QVERIFY(same(by(algorithm, InstructionKind::collective_permute, n, all), a + n * b));
      }
    }
  }

  void an_all_reduce_takes_a_reduce_scatter_and_an_all_gather() {
    test::RandomMachines random(1);
    for (int i = 0; i < cases; ++i) {
      const Machine machine = random.next();
      const int devices = random.devices(machine);
      const GroupPlacement groups = MachinePrices(machine, devices).place(random.groups(devices));
      const double payload = random.real(1, 1e12);
      for (Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical}) {
        QVERIFY(same(by(algorithm, InstructionKind::all_reduce, payload, groups),
                     by(algorithm, InstructionKind::reduce_scatter, payload, groups) +
                         by(algorithm, InstructionKind::all_gather, payload, groups)));
      }
    }
  }

  void nothing_is_faster_than_the_bytes_over_all_links_of_a_device() {
    test::RandomMachines random(2);
    for (int i = 0; i < cases; ++i) {
      const Machine machine = random.next();
      const int devices = random.devices(machine);
      const MachinePrices prices(machine, devices);
      const GroupPlacement groups = prices.place(random.groups(devices));
      if (groups.level() < 0) continue;
      const std::vector<LevelLinks> of_level = links_of(machine, prices.topology());
      double fastest = 0;
      for (int used : levels_used(groups)) {
        const Level& level = machine.levels[static_cast<size_t>(used)];
        const double links =
            level.kind == LevelKind::ring ? 2 : std::max(1.0, 2.0 * static_cast<double>(level.dims.size()));
        fastest = std::max(fastest, of_level[static_cast<size_t>(used)].bytes_per_second * links);
      }
      for (InstructionKind kind : collectives) {
        const double payload = random.real(1, 1e12), least = wire_bytes(kind, payload, groups.size) / fastest;
        for (Algorithm algorithm : algorithms) QVERIFY(at_least(by(algorithm, kind, payload, groups), least));
        QVERIFY(at_least(prices.collective_seconds(kind, payload, groups), least));
      }
    }
  }

  // By one rule without latency it is what each byte takes.
  void no_payload_takes_less_than_the_least_of_its_bytes() {
    test::RandomMachines random(11);
    int exact = 0;
    for (int i = 0; i < cases; ++i) {
      Machine machine = random.next();
      if (i % 4 == 0) {
        for (Level& each : machine.levels) each.latency = 0;
        machine.collectives.resize(std::min<size_t>(machine.collectives.size(), 1));
        for (CollectiveRule& rule : machine.collectives) rule = {.algorithm = rule.algorithm};
      }
      const int devices = random.devices(machine);
      const MachinePrices prices(machine, devices);
      const GroupPlacement groups = prices.place(random.groups(devices));
      for (InstructionKind kind : collectives) {
        const double least = least_seconds_per_byte(kind, groups, machine);
        QVERIFY(groups.levels.empty() ? least == 0 : least > 0);
        for (int j = 0; j < 8; ++j) {
          const double payload = random.real(1, 1e12);
          const double seconds = prices.collective_seconds(kind, payload, groups);
          QVERIFY(at_least(seconds, payload * least));
          if (i % 4 == 0 && !machine.collectives.empty()) QVERIFY(same(seconds, payload * least));
        }
        exact += i % 4 == 0 && least > 0;
      }
    }
    QVERIFY(exact > 100);
  }

  void groups_beside_others_never_cost_less() {
    test::RandomMachines random(3);
    int shared = 0;
    for (int i = 0; i < cases; ++i) {
      const Machine machine = random.next();
      const int devices = random.devices(machine);
      const MachinePrices prices(machine, devices);
      const std::vector<std::vector<int>> groups = random.groups(devices);
      const GroupPlacement all = prices.place(groups);
      for (const std::vector<int>& group : groups) {
        const GroupPlacement alone = prices.place(std::vector<std::vector<int>>{group});
        const double payload = random.real(1, 1e12);
        for (InstructionKind kind : collectives) {
          for (Algorithm algorithm : algorithms) {
            const double beside = by(algorithm, kind, payload, all), single = by(algorithm, kind, payload, alone);
            QVERIFY(at_least(beside, single));
            shared += beside > 1.5 * single;
          }
        }
      }
    }
    QVERIFY(shared > 0);
  }

  void a_group_within_a_unit_pays_no_outer_link() {
    test::RandomMachines random(4);
    int inside = 0;
    for (int i = 0; i < cases; ++i) {
      const Machine machine = random.next();
      const int devices = random.devices(machine);
      const MachinePrices prices(machine, devices);
      const std::vector<std::vector<int>> members = random.groups(devices);
      const GroupPlacement groups = prices.place(members);
      Machine slow = machine;
      for (size_t l = static_cast<size_t>(groups.level() + 1); l < slow.levels.size(); ++l) {
        slow.levels[l].bytes_per_second = 1e3;
        slow.levels[l].latency = 1e3;
        ++inside;
      }
      const MachinePrices outer_slow(slow, devices);
      const double payload = random.real(1, 1e12);
      for (InstructionKind kind : collectives) {
        QCOMPARE(outer_slow.collective_seconds(kind, payload, outer_slow.place(members)),
                 prices.collective_seconds(kind, payload, groups));
      }
    }
    QVERIFY(inside > 100);
    const MachinePrices prices(two_hosts(), 8);
    QVERIFY(same(prices.transfer_seconds(0, 3, 1e6), 1e-6 + 1e6 / 100e9));
    QVERIFY(same(prices.transfer_seconds(3, 4, 1e6), 5e-6 + 1e6 / 10e9));
    QCOMPARE(prices.transfer_seconds(3, 3, 1e6), 0.0);
  }

  void the_order_of_a_meshs_devices_decides_which_links_an_axis_uses() {
    const MachinePrices prices(two_hosts(), 8);
    const auto used = [&](std::vector<int> devices, AxisIndex axis) {
      return levels_used(prices.place(Mesh({{"data", 2}, {"model", 4}}, std::move(devices)), {axis}));
    };
    QCOMPARE(used({}, 0), (std::vector<int>{1}));
    QCOMPARE(used({}, 1), (std::vector<int>{0}));
    const std::vector<int> hosts_first = {0, 4, 1, 5, 2, 6, 3, 7};
    QCOMPARE(used(hosts_first, 0), (std::vector<int>{0}));
    QCOMPARE(used(hosts_first, 1), (std::vector<int>{0, 1}));
    QCOMPARE(used({7, 6, 5, 4, 3, 2, 1, 0}, 1), (std::vector<int>{0}));
    const Mesh mesh({{"data", 2}, {"model", 4}});
    QCOMPARE(levels_used(prices.place(mesh, {0, 1})), (std::vector<int>{0, 1}));
    QCOMPARE(levels_used(prices.place(mesh, {})), std::vector<int>{});
  }

  void groups_over_one_link_share_its_rate() {
    const std::vector<std::vector<int>> across = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    const double payload = 1e9;
    for (const auto& [shared_by, sharing] : {std::pair{1, 1}, {2, 2}, {4, 4}, {8, 4}, {Level::whole_unit, 4}}) {
      const MachinePrices prices(two_hosts(shared_by), 8);
      for (Algorithm algorithm : algorithms) {
        const auto bytes = [&](const std::vector<std::vector<int>>& groups) {
          return by(algorithm, InstructionKind::all_gather, payload, prices.place(groups)) - 5e-6;
        };
        QVERIFY(same(bytes({{0, 4}}), payload / 2 / 10e9));
        QVERIFY(same(bytes(across), sharing * payload / 2 / 10e9));
      }
      const std::vector<std::pair<int, int>> sends = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
      QVERIFY(same(prices.transfer_rate(sends).seconds_per_byte, sharing / 10e9));
      const std::vector<std::pair<int, int>> to_one = {{0, 8}, {4, 8}}, from_one = {{0, 4}, {0, 8}},
                                             through = {{0, 4}, {4, 8}};
      const MachinePrices three(two_hosts(shared_by), 12);
      QVERIFY(same(three.transfer_rate(to_one).seconds_per_byte, 2 / 10e9));
      QVERIFY(same(three.transfer_rate(from_one).seconds_per_byte, 2 / 10e9));
      QVERIFY(same(three.transfer_rate(through).seconds_per_byte, 1 / 10e9));
    }
    // The members of one host share the work of their group's ring among their links.
    const MachinePrices own(two_hosts(), 8), one(two_hosts(Level::whole_unit), 8);
    const std::vector<std::vector<int>> all = {{0, 1, 2, 3, 4, 5, 6, 7}};
    QVERIFY(same(own.place(all).levels[1].ring, 1 / 40e9) && same(one.place(all).levels[1].ring, 1 / 10e9));
    QCOMPARE(link_numbers(two_hosts(2).levels[1], 1, own.topology()), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  }

  // A torus of 4 x 4 devices, links of 50 GB/s in each direction.
  void rings_and_all_to_alls_use_the_dimensions_of_a_torus() {
    Level ici = level("ici", {16}, LevelKind::torus, 50e9, 0);
    ici.dims = {4, 4};
    const double n = 1e9, link = 1 / 50e9;
    const auto seconds = [&](InstructionKind kind, const std::vector<std::vector<int>>& groups) {
      return by(Algorithm::ring, kind, n, MachinePrices(on_levels({ici}), 16).place(groups));
    };
    const std::vector<std::vector<int>> row = {{0, 1, 2, 3}}, column = {{1, 5, 9, 13}};
    for (const auto& line : {row, column}) {
      QVERIFY(same(seconds(InstructionKind::all_gather, line), 0.75 * n / 2 * link));
      QVERIFY(same(seconds(InstructionKind::all_to_all, line), n * 4 / 8 * link));
    }
    std::vector<int> all(16);
    std::iota(all.begin(), all.end(), 0);
    QVERIFY(same(seconds(InstructionKind::all_gather, {all}), 15.0 / 16 * n / 4 * link));
    QVERIFY(same(seconds(InstructionKind::all_to_all, {all}), n * 4 / 8 * link));
    QVERIFY(same(seconds(InstructionKind::all_gather, {{0, 1}, {2, 3}}), 0.5 * n * link));
    QVERIFY(same(seconds(InstructionKind::all_gather, {{0, 2}, {1, 3}}), 0.5 * n * link));
    ici.wraps = false;
    QVERIFY(same(seconds(InstructionKind::all_gather, row), 0.75 * n * link));
    QVERIFY(same(seconds(InstructionKind::all_to_all, row), n * 4 / 4 * link));
  }

  // Without a rule's own latency, and with links that take no time for bytes, what is left are messages.
  void messages_follow_each_other_along_a_ring_and_within_units_before_across() {
    const double inside = 1e-6, across = 1e-3;
    const auto messages = [&](Algorithm algorithm, Machine machine, std::vector<int> group) {
      const MachinePrices prices(machine, 16);
      return by(algorithm, InstructionKind::all_gather, 0,
                prices.place(std::vector<std::vector<int>>{std::move(group)}));
    };
    const Machine hosts = on_levels(
        {level("host", {4}, LevelKind::switched, 1e9, inside), level("network", {}, LevelKind::switched, 1e9, across)});
    std::vector<int> all(16);
    std::iota(all.begin(), all.end(), 0);
    QVERIFY(same(messages(Algorithm::ring, hosts, all), 12 * inside + 3 * across));
    QVERIFY(same(messages(Algorithm::hierarchical, hosts, all), 3 * inside + 3 * across));
    QVERIFY(same(messages(Algorithm::tree, hosts, all), 3 * inside + 2 * across));
    QVERIFY(same(messages(Algorithm::direct, hosts, all), across));
    QVERIFY(same(messages(Algorithm::ring, hosts, {0, 1, 4, 5, 6}), 3 * inside + across));
    QVERIFY(same(messages(Algorithm::ring, hosts, {0, 4, 8, 12}), 3 * across));
    Level ici = level("ici", {8}, LevelKind::torus, 1e9, inside);
    ici.dims = {4, 2};
    const Machine slices = on_levels({ici, level("dcn", {}, LevelKind::switched, 1e9, across)});
    for (Algorithm algorithm : {Algorithm::ring, Algorithm::hierarchical}) {
      QVERIFY(same(messages(algorithm, slices, all), (2 + 1) * inside + across));
      QVERIFY(same(messages(algorithm, slices, {0, 2, 4, 6}), 2 * inside));
      QVERIFY(same(messages(algorithm, slices, {0, 8}), across));
    }
    ici.wraps = false;
    QVERIFY(same(messages(Algorithm::ring, on_levels({ici, level("dcn", {}, LevelKind::switched, 1e9, across)}), all),
                 (3 + 1) * inside + across));
  }

  void rules_decide_by_kind_level_and_size() {
    Machine machine = two_hosts();
    machine.collectives = {{InstructionKind::all_reduce, "network", 1000, Algorithm::tree, 1, 0, 0, ""},
                           {InstructionKind::all_reduce, "", 100, Algorithm::direct, 1, 0, 0, ""},
                           {std::nullopt, "network", 0, Algorithm::hierarchical, 0.5, 1e-3, 1e-4, ""}};
    const MachinePrices prices(machine, 8);
    const GroupPlacement inside = prices.place(std::vector<std::vector<int>>{{0, 1, 2}});
    const GroupPlacement across = prices.place(std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}});
    const auto price = [&](InstructionKind kind, double payload, const GroupPlacement& groups) {
      return prices.collective_seconds(kind, payload, groups);
    };
    QVERIFY(same(price(InstructionKind::all_reduce, 1000, across),
                 by(Algorithm::tree, InstructionKind::all_reduce, 1000, across)));
    QVERIFY(same(price(InstructionKind::all_reduce, 1001, across),
                 1e-3 + 8e-4 + 2 * (3 * 1e-6 + 5e-6) + 2 * (0.75 * 1001 / 100e9 + 0.5 * 1001 / 4 / 10e9) / 0.5));
    QVERIFY(same(price(InstructionKind::all_reduce, 100, inside),
                 by(Algorithm::direct, InstructionKind::all_reduce, 100, inside)));
    QVERIFY(same(price(InstructionKind::all_reduce, 101, inside),
                 by(Algorithm::ring, InstructionKind::all_reduce, 101, inside)));
    QVERIFY(same(price(InstructionKind::all_gather, 50, inside),
                 by(Algorithm::ring, InstructionKind::all_gather, 50, inside)));
    machine.levels[0].kind = LevelKind::shared_memory;
    QVERIFY(same(collective_seconds(InstructionKind::all_gather, 50, inside, machine),
                 by(Algorithm::direct, InstructionKind::all_gather, 50, inside)));
    QCOMPARE(error_of([&] { price(InstructionKind::compute, 1, inside); }).code, std::string("not_a_collective"));
  }

  // Over one link of each of two hosts of four: half of what is gathered, and no more, however many ranks there are.
  void ranks_of_hosts_send_what_others_gather_to_each_host_once() {
    const double rate = 25e6, n = 1e9;
    for (const int ranks : {2, 4, 8}) {
      Machine machine = on_levels({level("host", {ranks}, LevelKind::shared_memory, 1e18, 0, Level::host_cores),
                                   level("network", {}, LevelKind::switched, rate, 0, Level::whole_unit)});
      machine.device.kind = DeviceKind::host_cores;
      machine.device.cores = ranks;
      const MachinePrices prices(machine, 2 * ranks);
      std::vector<int> all(static_cast<size_t>(2 * ranks));
      std::iota(all.begin(), all.end(), 0);
      const GroupPlacement groups = prices.place(std::vector<std::vector<int>>{all});
      const auto over_link = [&](InstructionKind kind) {
        return prices.collective_seconds(kind, n, groups) * rate / n;
      };
      QVERIFY(std::abs(over_link(InstructionKind::all_gather) - 0.5) < 1e-6);
      QVERIFY(std::abs(over_link(InstructionKind::reduce_scatter) - 0.5) < 1e-6);
      QVERIFY(std::abs(over_link(InstructionKind::all_reduce) - 1) < 1e-6);
      // From each rank of one host to each of the other.
      QVERIFY(std::abs(over_link(InstructionKind::all_to_all) - ranks / 2.0) < 1e-6);
    }
  }

  void a_larger_payload_does_not_profit_from_the_next_rule() {
    Machine machine = two_hosts();
    machine.collectives = {{std::nullopt, "", 1000, Algorithm::ring, 1, 1, 0, ""}};
    const MachinePrices prices(machine, 8);
    const GroupPlacement groups = prices.place(std::vector<std::vector<int>>{{0, 4}});
    const double before = prices.collective_seconds(InstructionKind::all_gather, 1000, groups);
    QCOMPARE(prices.collective_seconds(InstructionKind::all_gather, 1001, groups), before);
    QVERIFY(prices.collective_seconds(InstructionKind::all_gather, 1e12, groups) > before);
  }
};

REGISTER_TEST(CollectivesTest)

}  // namespace collectives_test

#include "collectives_test.moc"
