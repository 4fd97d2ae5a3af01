#include <QTest>
#include <cmath>

#include "engine/machine/fit_levels.h"
#include "engine/machine/fit_products.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/machine_library.h"
#include "tests/base/errors_of.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace fit_test {

using namespace shardscope;

namespace {

constexpr int cases = 300;
constexpr InstructionKind collectives[] = {InstructionKind::all_gather, InstructionKind::all_reduce,
                                           InstructionKind::reduce_scatter, InstructionKind::all_to_all,
                                           InstructionKind::collective_permute};

double price(RowPrices& prices, const MeasuredRow& row) {
  if (const auto* product = std::get_if<PricedProduct>(&row.work)) return prices.seconds(*product);
  return prices.seconds(std::get<MeasuredCollective>(row.work));
}

// As a machine would measure them, each off by at most `noise`.
void measure_on(const Machine& machine, std::vector<MeasuredRow>& rows, double noise = 0) {
  RowPrices prices(machine);
  std::mt19937 random(7);
  for (MeasuredRow& row : rows)
    row.seconds = price(prices, row) * (1 + std::uniform_real_distribution<double>(-noise, noise)(random));
}

double mean_error(const Machine& machine, const std::vector<MeasuredRow>& rows) {
  RowPrices prices(machine);
  double sum = 0;
  for (const MeasuredRow& row : rows) sum += std::abs(price(prices, row) / row.seconds - 1);
  return sum / static_cast<double>(rows.size());
}

double worst_error(const Machine& machine, const std::vector<MeasuredRow>& rows) {
  RowPrices prices(machine);
  double worst = 0;
  for (const MeasuredRow& row : rows) worst = std::max(worst, std::abs(price(prices, row) / row.seconds - 1));
  return worst;
}

Machine read_again(const Machine& machine) { return parse_machine(machine_text(machine), "fitted"); }

std::vector<MeasuredRow> product_rows(test::RandomMachines& random) {
  std::vector<MeasuredRow> rows;
  for (int i = 1 + random.below(12); i > 0; --i) {
    const auto precision = static_cast<Precision>(random.below(6));
    rows.push_back(
        {PricedProduct{precision, random.size(8192), random.size(8192), random.size(8192)}, 0, in_file("m.csv", i)});
  }
  return rows;
}

// Of groups that fill the machine's units from inside out.
std::vector<MeasuredRow> collective_rows(const Machine& machine, int devices) {
  std::vector<MeasuredRow> rows;
  const Topology topology(machine.levels, devices);
  int within = 1;
  for (int level = 0; level < topology.level_count(); ++level) {
    const std::vector<int> sizes = topology.unit_sizes(level);
    if (std::ranges::min(sizes) != std::ranges::max(sizes)) break;
    if (sizes[0] == within) continue;
    within = sizes[0];
    for (InstructionKind kind : collectives) {
      for (double bytes = 1 << 10; bytes < 1e11; bytes *= 32)
        rows.push_back({MeasuredCollective{kind, static_cast<int64_t>(bytes), within}, 0, in_file("m.csv", 1)});
    }
  }
  return rows;
}

Machine h100() { return *library_machine("dgx_h100"); }

MeasuredRow all_reduce(int64_t bytes, int ranks, double seconds = 1) {
  return {MeasuredCollective{InstructionKind::all_reduce, bytes, ranks}, seconds, in_file("m.csv", ranks)};
}

// An H100 cluster with other links than the library says.
Machine cluster() {
  Machine machine = h100();
  machine.levels[0].latency = 2e-6;
  machine.levels[0].bytes_per_second = 370e9;
  machine.levels[1].latency = 9e-6;
  machine.levels[1].bytes_per_second = 21e9;
  machine.levels[0].source = machine.levels[1].source = "";
  return machine;
}

std::vector<MeasuredRow> cluster_rows() {
  std::vector<MeasuredRow> rows;
  for (int ranks : {2, 8, 16, 64}) {
    for (int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) rows.push_back(all_reduce(bytes, ranks));
  }
  return rows;
}

}  // namespace

class FitTest : public QObject {
  Q_OBJECT

 private slots:
  void products_of_a_machine_are_predicted_as_it_takes_them() {
    test::RandomMachines random(1);
    for (int i = 0; i < cases; ++i) {
      const Machine machine = random.next();
      std::vector<MeasuredRow> rows = product_rows(random);
      measure_on(machine, rows);
      Machine start = machine;
      for (auto& [precision, rate] : start.device.products) rate.efficiency = random.samples();
      const Machine fitted = read_again(fit_products(start, rows, "rows"));
      const double worst = worst_error(fitted, rows);
      QVERIFY2(worst < 1e-6, qPrintable(QString("machine %1: %2").arg(i).arg(worst)));
    }
  }

  // Two shapes of which the larger took less time: 220 us for 4096^3, 200 us where k is 4224.
  void a_larger_product_that_took_less_time_shares_the_error_with_the_smaller_one() {
    const std::vector<MeasuredRow> rows = {{PricedProduct{Precision::bf16, 4096, 4096, 4096}, 220e-6, {}},
                                           {PricedProduct{Precision::bf16, 4096, 4096, 4224}, 200e-6, {}}};
    RowPrices prices(fit_products(h100(), rows, ""));
    for (const MeasuredRow& row : rows) QVERIFY(std::abs(price(prices, row) - std::sqrt(220e-6 * 200e-6)) < 1e-12);
  }

  void products_alone_change_and_only_in_precisions_with_rows() {
    Machine machine = h100();
    std::vector<MeasuredRow> rows = {{PricedProduct{Precision::bf16, 4096, 4096, 4096}, 2e-4, {}}};
    const Machine fitted = fit_products(machine, rows, "rows");
    const double flops = 2.0 * 4096 * 4096 * 4096;
    const ProductRate& rate = fitted.device.products.at(Precision::bf16);
    QCOMPARE(rate.efficiency.size(), size_t{1});
    QVERIFY(std::abs(rate.efficiency[0].efficiency - flops / 2e-4 / 989.4e12) < 1e-9);
    QCOMPARE(rate.source, std::string("rows"));
    machine.device.products[Precision::bf16] = rate;
    QVERIFY(fitted == machine);
  }

  void a_precision_without_a_rate_of_its_own_gets_the_one_that_it_was_priced_by() {
    std::vector<MeasuredRow> rows = {{PricedProduct{Precision::fp4, 8192, 8192, 8192}, 1e-3, {}}};
    const Machine fitted = fit_products(h100(), rows, "rows");
    QCOMPARE(fitted.device.products.at(Precision::fp4).flops_per_second, 1978.9e12);
    QVERIFY(worst_error(fitted, rows) < 1e-9);
  }

  void an_efficiency_above_one_or_hardly_above_zero_is_an_error_at_its_row() {
    std::vector<MeasuredRow> rows = {{PricedProduct{Precision::bf16, 4096, 4096, 4096}, 1e-4, in_file("m.csv", 2)},
                                     {PricedProduct{Precision::bf16, 4096, 4096, 4096}, 2e-4, in_file("m.csv", 3)},
                                     {PricedProduct{Precision::bf16, 4096, 4096, 4096}, 200, in_file("m.csv", 4)}};
    const std::vector<Error> errors = errors_of([&] { fit_products(h100(), rows, ""); });
    QCOMPARE(errors.size(), size_t{2});
    QVERIFY(errors[0].place == in_file("m.csv", 2) && errors[1].place == in_file("m.csv", 4));
    QVERIFY2(errors[0].message.ends_with("the machine's peak for bf16 is 989.4 TFLOP/s"), errors[0].message.c_str());
  }

  void collectives_of_a_machine_are_predicted_as_it_takes_them() {
    test::RandomMachines random(2);
    int fitted_machines = 0;
    for (int i = 0; i < 4 * cases; ++i) {
      Machine machine = random.next();
      // One that is not above that of a level inside is hidden by it in a rendezvous, and no row tells it.
      for (size_t l = 1; l < machine.levels.size(); ++l)
        machine.levels[l].latency = std::max(machine.levels[l].latency, 2 * machine.levels[l - 1].latency);
      std::vector<MeasuredRow> rows = collective_rows(machine, random.devices(machine));
      if (rows.empty()) continue;
      measure_on(machine, rows);
      Machine start = machine;
      for (Level& level : start.levels) {
        level.latency = random.real(1e-8, 1e-3);
        level.bytes_per_second = random.real(1e8, 1e12);
      }
      const double worst = worst_error(read_again(fit_levels(start, rows, "rows")), rows);
      QVERIFY2(worst < 1e-6, qPrintable(QString("machine %1: %2").arg(i).arg(worst)));
      ++fitted_machines;
    }
    QVERIFY(fitted_machines > cases);
  }

  void levels_of_a_cluster_are_found_again() {
    const Machine machine = cluster();
    std::vector<MeasuredRow> rows = cluster_rows();
    measure_on(machine, rows);
    const Machine fitted = fit_levels(h100(), rows, "rows");
    for (size_t i = 0; i < 2; ++i) {
      QVERIFY(std::abs(fitted.levels[i].latency / machine.levels[i].latency - 1) < 1e-6);
      QVERIFY(std::abs(fitted.levels[i].bytes_per_second / machine.levels[i].bytes_per_second - 1) < 1e-6);
      QCOMPARE(fitted.levels[i].source, std::string("rows"));
    }
    QVERIFY(worst_error(fitted, rows) < 1e-6);
  }

  void noise_of_five_percent_leaves_errors_of_less_than_five() {
    std::vector<MeasuredRow> rows = cluster_rows();
    for (int64_t m = 256; m <= 8192; m *= 2) {
      for (int64_t n = 256; n <= 8192; n *= 2)
        rows.push_back({PricedProduct{Precision::bf16, m, n, 4096}, 0, in_file("m.csv", 1)});
    }
    Machine machine = cluster();
    machine.device.products[Precision::bf16].efficiency = {{256, 256, 4096, 0.3, ""}, {8192, 8192, 4096, 0.8, ""}};
    measure_on(machine, rows, 0.05);
    const Machine fitted = fit_levels(fit_products(h100(), rows, "rows"), rows, "rows");
    const double mean = mean_error(fitted, rows), worst = worst_error(fitted, rows);
    QVERIFY2(mean < 0.05 && worst < 0.11, qPrintable(QString("%1 %2").arg(mean).arg(worst)));
    QVERIFY(mean_error(h100(), rows) > 5 * mean);
    for (size_t i = 0; i < 2; ++i) {
      QVERIFY(std::abs(fitted.levels[i].latency / machine.levels[i].latency - 1) < 0.05);
      QVERIFY(std::abs(fitted.levels[i].bytes_per_second / machine.levels[i].bytes_per_second - 1) < 0.05);
    }
  }

  void a_level_without_rows_stays() {
    std::vector<MeasuredRow> rows = {all_reduce(1 << 10, 16), all_reduce(1 << 30, 16)};
    measure_on(cluster(), rows);
    const Machine fitted = fit_levels(h100(), rows, "rows");
    QVERIFY(fitted.levels[0] == h100().levels[0]);
    QVERIFY(worst_error(fitted, rows) < 1e-6);
    QVERIFY(fit_levels(h100(), {}, "rows") == h100());
  }

  // One device of each host.
  void groups_with_a_stride_are_of_the_level_outside_alone() {
    std::vector<MeasuredRow> rows = cluster_rows();
    for (MeasuredRow& row : rows) std::get<MeasuredCollective>(row.work).stride = 8;
    measure_on(cluster(), rows);
    const Machine fitted = fit_levels(h100(), rows, "");
    QVERIFY(fitted.levels[0] == h100().levels[0] && worst_error(fitted, rows) < 1e-6);
    QVERIFY(std::abs(fitted.levels[1].latency / 9e-6 - 1) < 1e-6);
    QVERIFY(std::abs(fitted.levels[1].bytes_per_second / 21e9 - 1) < 1e-6);
    QCOMPARE(to_string(rows[0]), std::string("all-reduce of 1.00 KiB among 2, 8 apart"));
  }

  void a_machine_that_predicts_its_rows_keeps_its_levels() {
    std::vector<MeasuredRow> rows = cluster_rows();
    measure_on(cluster(), rows);
    QVERIFY(fit_levels(cluster(), rows, "") == cluster());
  }

  void rows_that_do_not_say_latency_and_rate_are_errors_at_a_row() {
    const auto fault = [](const std::vector<MeasuredRow>& rows) {
      const std::vector<Error> errors = errors_of([&] { fit_levels(h100(), rows, ""); });
      return errors.size() == 1 ? to_string(errors[0]) : std::string("no one fault");
    };
    QCOMPARE(fault({all_reduce(1 << 30, 8, 1e-2), all_reduce(1 << 30, 8, 1.1e-2)}),
             std::string("m.csv:8: rows of about one size do not tell the latency of level 'nvlink' from its rate (add "
                         "a row of all-reduce among 8 with 16.0 KiB or less)"));
    QCOMPARE(fault({all_reduce(1 << 10, 8, 1e-5)}),
             std::string("m.csv:8: rows of about one size do not tell the latency of level 'nvlink' from its rate (add "
                         "a row of all-reduce among 8 with 64.0 KiB or more)"));
    QCOMPARE(
        fault({all_reduce(8, 16, 3e-5), all_reduce(1 << 12, 16, 3e-5)}),
        std::string("m.csv:16: the rate of level 'infiniband' does not follow from rows in which bytes hardly take "
                    "time (add rows of 256 KiB and more)"));
    QCOMPARE(
        fault({all_reduce(8, 12)}),
        std::string("m.csv:12: a group of 12 fills a unit of level 'nvlink' only partly (a multiple of 8, or at most "
                    "8)"));
    Machine one = h100();
    one.levels.pop_back();
    const Error error = error_of([&] { fit_levels(one, std::vector{all_reduce(8, 16)}, ""); });
    QVERIFY(error.code == "device_count" && error.place == in_file("m.csv", 16));
  }
};

REGISTER_TEST(FitTest)

}  // namespace fit_test

#include "fit_test.moc"
