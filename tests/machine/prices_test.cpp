#include <QTest>
#include <functional>

#include "engine/machine/machine_prices.h"
#include "tests/base/errors_of.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace prices_test {

using namespace shardscope;

namespace {

constexpr InstructionKind collectives[] = {InstructionKind::all_gather, InstructionKind::all_reduce,
                                           InstructionKind::reduce_scatter, InstructionKind::all_to_all,
                                           InstructionKind::collective_permute};
constexpr int cases = 400;

bool at_least(double value, double least) { return value >= least - 1e-12 * std::abs(least); }
bool same(double a, double b) { return at_least(a, b) && at_least(b, a); }

// A machine with a run on it, and the prices of much that it may do, always in the same order.
struct RandomRun {
  explicit RandomRun(test::RandomMachines& random)
      : machine(random.next()), devices(random.devices(machine)), groups(random.groups(devices)) {
    for (int i = 0; i < 8; ++i) {
      products.push_back({static_cast<Precision>(random.below(6)), random.size(8192), random.size(8192),
                          random.size(8192), random.size(64), random.below(2) == 1});
      bytes.push_back(random.real(1, 1e11));
      flops.push_back(random.real(1, 1e13));
      transfers.emplace_back(random.below(devices), random.below(devices));
    }
    families = {"gelu", "host", "a b"};
  }

  std::vector<double> prices(const Machine& of) const {
    const MachinePrices prices(of, devices);
    const GroupPlacement placement = prices.place(groups);
    std::vector<double> seconds;
    for (const PricedProduct& product : products) seconds.push_back(prices.matrix_product_seconds(product));
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const std::string& family : families) {
        seconds.push_back(prices.local_seconds(family, bytes[i], flops[i], products[i].precision));
      }
      for (InstructionKind kind : collectives) seconds.push_back(prices.collective_seconds(kind, bytes[i], placement));
      seconds.push_back(prices.transfer_seconds(transfers[i].first, transfers[i].second, bytes[i]));
      seconds.push_back(prices.transfer_rate(transfers).seconds(bytes[i]));
    }
    return seconds;
  }

  Machine machine;
  int devices;
  std::vector<std::vector<int>> groups;
  std::vector<PricedProduct> products;
  std::vector<double> bytes, flops;
  std::vector<std::pair<int, int>> transfers;
  std::vector<std::string> families;
};

void visit_latencies(Machine& machine, const std::function<void(double&)>& visit) {
  visit(machine.device.instruction_latency);
  for (Level& level : machine.levels) visit(level.latency);
  for (CollectiveRule& rule : machine.collectives) {
    visit(rule.latency);
    visit(rule.latency_per_member);
  }
}

void visit_rates(Machine& machine, const std::function<void(double&)>& visit) {
  visit(machine.device.vector_flops);
  for (auto& product : machine.device.products) visit(product.second.flops_per_second);
  for (auto& kernel : machine.device.kernels) {
    for (auto& rate : kernel.second.flops_per_second) visit(rate.second);
  }
  for (MemoryLevel& level : machine.device.memory) visit(level.bytes_per_second);
  for (Level& level : machine.levels) visit(level.bytes_per_second);
}

}  // namespace

class PricesTest : public QObject {
  Q_OBJECT

 private slots:
  void prices_are_finite_and_not_negative() {
    test::RandomMachines random(1);
    for (int i = 0; i < cases; ++i) {
      const RandomRun run(random);
      for (double seconds : run.prices(run.machine)) QVERIFY(std::isfinite(seconds) && seconds >= 0);
    }
  }

  void nothing_is_faster_than_the_peak_rates() {
    test::RandomMachines random(2);
    for (int i = 0; i < cases; ++i) {
      const RandomRun run(random);
      const MachinePrices prices(run.machine, run.devices);
      const Device& device = run.machine.device;
      const double cores = device.kind == DeviceKind::own ? 1 : device.cores;
      double memory_rate = 0;
      for (const MemoryLevel& level : device.memory) memory_rate = std::max(memory_rate, level.bytes_per_second);
      for (const PricedProduct& product : run.products) {
        const double flops =
            2.0 * static_cast<double>(product.m * product.n) * static_cast<double>(product.k * product.batch);
        const double peak = find_products(device, product.precision)->flops_per_second * cores;
        QVERIFY(at_least(prices.matrix_product_seconds(product), flops / peak));
      }
      for (double bytes : run.bytes) QVERIFY(at_least(prices.local_seconds("", bytes), bytes / memory_rate / cores));
    }
  }

  void an_instruction_takes_at_least_the_time_to_issue_it_unless_it_is_issued_ahead() {
    test::RandomMachines random(8);
    int limited = 0;
    for (int i = 0; i < cases; ++i) {
      const RandomRun run(random);
      Machine machine = run.machine;
      const auto seconds_of = [&](bool ahead, double issue) {
        machine.device.issue_seconds = issue;
        machine.device.issues_ahead = ahead;
        const MachinePrices prices(machine, run.devices);
        std::vector<double> seconds;
        for (const PricedProduct& product : run.products) seconds.push_back(prices.matrix_product_seconds(product));
        for (double bytes : run.bytes) seconds.push_back(prices.local_seconds("gelu", bytes));
        return seconds;
      };
      const std::vector<double> alone = seconds_of(false, 0);
      const double issue = alone[static_cast<size_t>(random.below(static_cast<int>(alone.size())))];
      const std::vector<double> least = seconds_of(false, issue);
      QVERIFY(seconds_of(true, issue) == alone);
      for (size_t at = 0; at < alone.size(); ++at) {
        QCOMPARE(least[at], std::max(alone[at], issue));
        limited += alone[at] < issue;
      }
    }
    QVERIFY(limited > cases);
  }

  void larger_work_takes_no_less_time() {
    test::RandomMachines random(3);
    for (int i = 0; i < cases; ++i) {
      const RandomRun run(random);
      const MachinePrices prices(run.machine, run.devices);
      const GroupPlacement placement = prices.place(run.groups);
      for (const PricedProduct& product : run.products) {
        PricedProduct larger = product;
        for (int64_t* size : {&larger.m, &larger.n, &larger.k, &larger.batch}) *size += random.size(4096) - 1;
        QVERIFY(at_least(prices.matrix_product_seconds(larger), prices.matrix_product_seconds(product)));
      }
      for (double bytes : run.bytes) {
        const double more = bytes * random.real(1, random.below(2) ? 3 : 1.001);
        for (const std::string& family : run.families) {
          QVERIFY(at_least(prices.local_seconds(family, more, 1e9), prices.local_seconds(family, bytes, 1e9)));
          QVERIFY(at_least(prices.local_seconds(family, 1e6, more), prices.local_seconds(family, 1e6, bytes)));
        }
        for (InstructionKind kind : collectives) {
          QVERIFY(at_least(prices.collective_seconds(kind, more, placement),
                           prices.collective_seconds(kind, bytes, placement)));
        }
        const TransferRate rate = prices.transfer_rate(run.transfers);
        QVERIFY(rate.seconds(more) >= rate.seconds(bytes));
      }
    }
  }

  void longer_latencies_make_nothing_faster() {
    test::RandomMachines random(4);
    for (int i = 0; i < cases; ++i) {
      const RandomRun run(random);
      Machine slower = run.machine;
      visit_latencies(slower, [&](double& latency) { latency += random.below(2) ? random.real(1e-9, 1e-3) : 0; });
      const std::vector<double> before = run.prices(run.machine), after = run.prices(slower);
      for (size_t j = 0; j < before.size(); ++j) QVERIFY(at_least(after[j], before[j]));
    }
  }

  void without_latencies_twice_all_rates_take_half_the_time() {
    test::RandomMachines random(5);
    for (int i = 0; i < cases; ++i) {
      RandomRun run(random);
      visit_latencies(run.machine, [](double& latency) { latency = 0; });
      Machine faster = run.machine;
      visit_rates(faster, [](double& rate) { rate *= 2; });
      const std::vector<double> before = run.prices(run.machine), after = run.prices(faster);
      for (size_t j = 0; j < before.size(); ++j) QVERIFY(same(before[j], 2 * after[j]));
    }
  }

  void what_fits_a_cache_is_priced_at_its_rate() {
    Machine machine;
    machine.device.memory = {{"cache", 1000, 4e9, false, ""}, {"memory", 0, 1e9, false, ""}};
    machine.device.products[Precision::f32].flops_per_second = 1e12;
    const MachinePrices prices(machine, 1);
    QVERIFY(same(prices.local_seconds("", 1000), 1000 / 4e9));
    QVERIFY(same(prices.local_seconds("", 2000), 2000 / 1e9));
    machine.device.kernels["adam"] = {0.5, {{Precision::f32, 1e9}}, ""};
    const MachinePrices with_family(machine, 1);
    QVERIFY(same(with_family.local_seconds("adam", 1000), 2 * 1000 / 4e9));
    QVERIFY(same(with_family.local_seconds("adam", 0, 1e6), 2 * 1e-3));
    QVERIFY(same(with_family.local_seconds("adam", 0, 1e6, Precision::bf16), 2 * 1e-3));
    QVERIFY(same(with_family.local_seconds("gelu", 0, 1e6), 0));
  }

  // 4 ranks on 8 cores have 2 each, 16 ranks half a core.
  void ranks_share_the_cores_of_their_host() {
    Machine machine;
    Device& device = machine.device;
    device.kind = DeviceKind::host_cores;
    device.cores = 8;
    device.memory_bytes = 1600;
    device.instruction_latency = 1e-6;
    device.memory = {{"own", 100, 2e9, false, ""}, {"all", 0, 8e9, true, ""}};
    device.products[Precision::f32].flops_per_second = 1e9;
    Level host;
    host.name = "host";
    host.kind = LevelKind::shared_memory;
    host.bytes_per_second = 1e9;
    host.shared_by = Level::host_cores;
    machine.levels = {host};
    const PricedProduct product{Precision::f32, 100, 100, 100};
    const MachinePrices four(machine, 4), sixteen(machine, 16);
    QCOMPARE(four.threads_per_rank(), 2);
    QCOMPARE(sixteen.threads_per_rank(), 1);
    QCOMPARE(four.memory_bytes(), int64_t{400});
    QVERIFY(same(four.matrix_product_seconds(product), 1e-6 + 2e6 / 2e9));
    QVERIFY(same(sixteen.matrix_product_seconds(product), 2e-6 + 2e6 / 0.5e9));
    QVERIFY(same(four.peak_seconds(2e6, Precision::f32), 2e6 / 2e9));
    QVERIFY(same(sixteen.peak_seconds(2e6, Precision::f32), 2e6 / 0.5e9));
    QVERIFY(same(four.local_seconds("", 200), 1e-6 + 200 / 4e9));
    QVERIFY(same(four.local_seconds("", 400), 1e-6 + 400 / 2e9));
    QVERIFY(same(four.transfer_seconds(0, 1, 1e6), 1e6 / 2e9));
    const MachinePrices two_hosts(with_hosts(machine, {4, 3}), 7);
    QVERIFY(same(two_hosts.matrix_product_seconds(product), four.matrix_product_seconds(product)));
  }

  void threads_share_the_cores_and_are_at_least_one() {
    test::RandomMachines random(6);
    for (int i = 0; i < cases; ++i) {
      const Machine machine = random.next();
      const int devices = random.devices(machine);
      const Topology topology(machine.levels, devices);
      const int threads = threads_per_rank(machine, topology), ranks = ranks_on_host(machine, topology);
      QVERIFY(threads >= 1 && ranks >= 1 && ranks <= devices);
      QVERIFY(threads == 1 || threads * ranks <= machine.device.cores);
    }
  }

  void a_precision_without_a_rate_is_computed_in_a_wider_one() {
    Machine machine;
    machine.device.memory = {{"memory", 0, 1e18, false, ""}};
    machine.device.products[Precision::f32].flops_per_second = 1e9;
    const auto seconds = [&](Precision precision) {
      return MachinePrices(machine, 1).matrix_product_seconds({precision, 100, 100, 50});
    };
    for (int i = 0; i < 6; ++i) QVERIFY(same(seconds(static_cast<Precision>(i)), 1e-3));
    machine.device.products[Precision::bf16].flops_per_second = 4e9;
    QVERIFY(same(seconds(Precision::fp8), 0.25e-3) && same(seconds(Precision::f16), 0.25e-3));
    QVERIFY(same(seconds(Precision::tf32), 1e-3) && same(seconds(Precision::f32), 1e-3));
    machine.device.products.erase(Precision::f32);
    QCOMPARE(error_of([&] { seconds(Precision::f32); }).code, std::string("no_product_rate"));
  }

  void products_of_a_transposed_left_operand_have_samples_of_their_own() {
    Machine machine;
    machine.device.memory = {{"memory", 0, 1e18, false, ""}};
    machine.device.products[Precision::f32] = {1e9, {{10, 10, 10, 0.5, ""}}, {{10, 10, 10, 0.25, ""}}, ""};
    const MachinePrices prices(machine, 1);
    QVERIFY(same(prices.matrix_product_seconds({Precision::f32, 10, 10, 10, 1, false}), 2e-6 / 0.5));
    QVERIFY(same(prices.matrix_product_seconds({Precision::f32, 10, 10, 10, 1, true}), 2e-6 / 0.25));
    QVERIFY(same(prices.matrix_product_seconds({Precision::bf16, 10, 10, 10, 3, false}), 3 * 2e-6 / 0.5));
  }

  void overlap_is_the_same_from_both_sides() {
    Machine machine;
    machine.overlap = {{"compute", "nvlink", 1.5, 1.25, ""}};
    const auto one = find_overlap(machine, "compute", "nvlink"), other = find_overlap(machine, "nvlink", "compute");
    QVERIFY(one && other && one->slowdown == other->beside_slowdown && one->beside_slowdown == other->slowdown);
    QCOMPARE(one->slowdown, 1.5);
    QVERIFY(!find_overlap(machine, "compute", "infiniband") && !find_overlap(machine, "compute", "compute"));
  }
};

REGISTER_TEST(PricesTest)

}  // namespace prices_test

#include "prices_test.moc"
