#include "engine/machine/priced_family.h"

#include <QTest>
#include <cmath>

#include "engine/machine/host_machine.h"
#include "engine/machine/machine_prices.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace priced_family_test {

using namespace shardscope;

namespace {

constexpr double times = 1.7;
constexpr InstructionKind kinds[] = {InstructionKind::all_gather, InstructionKind::all_reduce,
                                     InstructionKind::reduce_scatter, InstructionKind::all_to_all,
                                     InstructionKind::collective_permute};

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

}  // namespace

class PricedFamilyTest : public QObject {
  Q_OBJECT

 private slots:
  void products_of_one_precision_take_so_many_times_as_long() {
    Machine before = reference_host();
    before.device.products[Precision::bf16].flops_per_second = 200e9;
    const Machine after = with_slower(before, ProductFamily{Precision::f32}, times, "why");
    const MachinePrices old(before, 2), now(after, 2);
    const double latency = old.local_seconds("", 0);
    const PricedProduct large{Precision::f32, 1024, 1024, 1024}, other{Precision::bf16, 1024, 1024, 1024};
    QVERIFY(near(now.matrix_product_seconds(large) - latency, times * (old.matrix_product_seconds(large) - latency)));
    QCOMPARE(now.matrix_product_seconds(other), old.matrix_product_seconds(other));
    QCOMPARE(now.local_seconds("gelu", 1e6), old.local_seconds("gelu", 1e6));
    QCOMPARE(after.device.products.at(Precision::f32).source, std::string("why"));
  }

  void a_kernel_takes_so_many_times_as_long_and_others_what_they_did() {
    Machine before = reference_host();
    before.device.kernels["attention"].flops_per_second[Precision::f32] = 3e9;
    for (const char* name : {"gelu", "attention"})
      for (const double factor : {times, name == std::string("attention") ? 1 / times : 1.0}) {
        const Machine after = with_slower(before, KernelFamily{name}, factor, "why");
        const MachinePrices old(before, 2), now(after, 2);
        const double latency = old.local_seconds("", 0);
        QVERIFY(
            near(now.local_seconds(name, 100, 1e8) - latency, factor * (old.local_seconds(name, 100, 1e8) - latency)));
        QCOMPARE(now.local_seconds("add", 1e6), old.local_seconds("add", 1e6));
        QVERIFY(after.device.kernels.at(name).efficiency <= 1);
      }
  }

  void bytes_of_one_collective_over_one_level_take_so_many_times_as_long() {
    const Machine before = with_hosts(reference_host(), {4, 4});
    const std::vector<std::vector<int>> inside = {{0, 1, 2, 3}, {4, 5, 6, 7}}, across = {{0, 1, 2, 3, 4, 5, 6, 7}};
    for (const InstructionKind kind : kinds) {
      const Machine after = with_slower(before, CollectiveFamily{kind, network_name}, times, "why");
      const MachinePrices old(before, 8), now(after, 8);
      for (const InstructionKind other : kinds) {
        QCOMPARE(now.collective_seconds(other, 1e6, now.place(inside)),
                 old.collective_seconds(other, 1e6, old.place(inside)));
        const auto bytes = [&](const MachinePrices& prices) {
          const GroupPlacement groups = prices.place(across);
          return prices.collective_seconds(other, 1e6, groups) - prices.collective_seconds(other, 0, groups);
        };
        QVERIFY(near(bytes(now), (other == kind ? times : 1) * bytes(old)));
      }
    }
  }

  void on_any_machine_nothing_else_changes_and_the_family_is_not_faster() {
    test::RandomMachines machines(5);
    int compared = 0;
    for (int i = 0; i < 200; ++i) {
      const Machine before = machines.next();
      const int devices = machines.devices(before);
      const std::vector<std::vector<int>> groups = machines.groups(devices);
      const MachinePrices old(before, devices);
      const GroupPlacement placed = old.place(groups);
      if (placed.level() < 0) continue;
      const CollectiveFamily family{InstructionKind::all_reduce, before.levels[size_t(placed.level())].name};
      const MachinePrices now(with_slower(before, family, times, "why"), devices);
      for (const InstructionKind kind : kinds) {
        for (const double payload : {0.0, 1e3, 1e6, 1e9}) {
          const double was = old.collective_seconds(kind, payload, placed);
          const double is = now.collective_seconds(kind, payload, placed);
          if (kind == family.kind) QVERIFY(is >= was * (1 - 1e-12));
          else QCOMPARE(is, was);
          ++compared;
        }
      }
    }
    QVERIFY(compared > 1000);
  }
};

REGISTER_TEST(PricedFamilyTest)

}  // namespace priced_family_test

#include "priced_family_test.moc"
