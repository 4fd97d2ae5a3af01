#include <QtTest>
#include <cmath>
#include <set>

#include "engine/base/error.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/machine_prices.h"
#include "engine/ops/registry.h"
#include "engine/runtime/calibration.h"
#include "engine/runtime/collective_rates.h"
#include "engine/runtime/timing.h"
#include "tests/test_program.h"

namespace calibration_test {

using namespace shardscope;

constexpr double latency = 1e-6;
constexpr int cores = 4;

Timing took(double seconds) { return {seconds, 0.05, 9}; }

// Of a host whose L2 of 1 MB streams 40 GB/s a core and whose memory 10 GB/s.
Measurements memory_alone() {
  Measurements measured;
  measured.date = "2026-11-24";
  measured.cores = cores;
  measured.instruction = took(latency);
  measured.memory = {{"L2", 1'000'000, false, 500e3, took(latency + 500e3 / 40e9)},
                     {"L3", 32'000'000, true, 4e6, took(latency + 4e6 / 20e9)},
                     {"memory", 0, false, 64e6, took(latency + 64e6 / 10e9)}};
  return measured;
}

const Measurements& this_machine() {
  static const Measurements measured = measure(0.2);
  return measured;
}

bool near(double got, double expected, double tolerance = 1e-9) { return std::abs(got / expected - 1) < tolerance; }

ProductTiming product(int64_t m, int64_t n, int64_t k, double flops_per_second, bool transposed = false,
                      Precision precision = Precision::f32) {
  const double flops = 2.0 * static_cast<double>(m * n * k);
  return {precision, m, n, k, transposed, took(latency + flops / flops_per_second)};
}

class CalibrationTest : public QObject {
  Q_OBJECT

 private slots:
  void everything_is_measured_on_this_machine() {
    const Measurements& measured = this_machine();
    const auto check = [](const Timing& time) {
      QVERIFY(std::isfinite(time.seconds) && time.seconds > 0);
      QVERIFY(time.spread >= 0);
      QVERIFY(time.repetitions >= 3);
    };
    check(measured.instruction);
    QCOMPARE(measured.cores, standard_host().device.cores);
    QCOMPARE(measured.date.size(), size_t{10});
    QVERIFY(!measured.bf16_products.empty());
    QVERIFY(measured.other_work >= 0 && measured.other_work <= 1);
    std::set<std::pair<Precision, bool>> products;
    for (const ProductTiming& timing : measured.products) {
      check(timing.time);
      products.emplace(timing.precision, timing.transposed_left);
    }
    QCOMPARE(products.size(), size_t{4});
    for (const MemoryTiming& timing : measured.memory) check(timing.time);
    QCOMPARE(measured.memory.back().level, std::string("memory"));
    for (const KernelTiming& timing : measured.kernels) check(timing.time);
    std::set<std::pair<InstructionKind, int>> collectives;
    for (const CollectiveTiming& timing : measured.collectives) {
      check(timing.time);
      collectives.emplace(timing.collective, timing.ranks);
    }
    QCOMPARE(collectives.size(), size_t{5 * 3});

    // What follows can be kept, and read again.
    QTemporaryDir folder;
    const std::string path = folder.filePath("machine.json").toStdString();
    const Machine machine = machine_of(measured);
    save_machine(machine, path);
    QVERIFY(load_machine(path) == machine);
  }

  // Families without a case are priced by their bytes alone.
  void every_op_of_a_step_is_measured_but_products() {
    std::set<std::string> measured;
    for (const KernelTiming& timing : this_machine().kernels) measured.insert(timing.family);
    const std::set<std::string> others = {"initialise", "global_norm"};
    for (const OpDefinition* definition : all_op_definitions()) {
      const std::string name(definition->name());
      const bool priced_otherwise = definition->is_matrix_product() || !definition->touches_memory();
      QVERIFY2(measured.contains(name) != others.contains(name) || priced_otherwise, name.c_str());
    }
    // Products whose kernels have rates of their own.
    for (const char* name : {"attention", "attention_grad", "attention_block", "attention_block_grad"}) {
      QVERIFY2(measured.contains(name), name);
    }
  }

  void a_timing_is_the_median_and_the_quartiles_distance() {
    const Timing timing = timing_of({5, 1, 4, 2, 8});
    QCOMPARE(timing.seconds, 4.0);
    QCOMPARE(timing.spread, (5.0 - 2.0) / 4.0);
    QCOMPARE(timing.repetitions, 5);
  }

  void a_failure_on_a_thread_is_thrown() {
    const auto fail_on_second = [](int thread) {
      if (thread == 1) throw Failure(Error{"here", "", "", ""});
    };
    QVERIFY_EXCEPTION_THROWN(run_on_threads(3, fail_on_second), Failure);
  }

  void products_reach_their_share_of_the_best_rate() {
    Measurements measured = memory_alone();
    measured.products = {product(600, 600, 600, 50e9), product(24, 24, 600, 20e9), product(600, 600, 600, 40e9, true),
                         product(600, 600, 600, 80e9, false, Precision::bf16)};
    measured.bf16_products = "oneDNN";
    const Device device = machine_of(measured).device;
    const ProductRate &f32 = device.products.at(Precision::f32), &bf16 = device.products.at(Precision::bf16);
    QVERIFY(near(f32.flops_per_second, 50e9));
    QCOMPARE(f32.efficiency.size(), size_t{2});
    QVERIFY(near(f32.efficiency[0].efficiency, 1));
    QVERIFY(near(f32.efficiency[1].efficiency, 20.0 / 50));
    QCOMPARE(f32.efficiency[1].k, int64_t{600});
    QCOMPARE(f32.transposed_left.size(), size_t{1});
    QVERIFY(near(f32.transposed_left[0].efficiency, 40.0 / 50));
    QVERIFY(near(bf16.flops_per_second, 80e9));
    QVERIFY(bf16.transposed_left.empty());
    QCOMPARE(device.bf16_products, std::string("oneDNN"));
  }

  void memory_levels_have_their_rates_shared_ones_of_all_cores() {
    const Device device = machine_of(memory_alone()).device;
    QCOMPARE(device.memory.size(), size_t{3});
    QVERIFY(near(device.memory[0].bytes_per_second, 40e9));
    QCOMPARE(device.memory[0].capacity_bytes, int64_t{1'000'000});
    QVERIFY(near(device.memory[1].bytes_per_second, 20e9 * cores));
    QVERIFY(device.memory[1].shared && !device.memory[2].shared);
    QVERIFY(near(device.memory[2].bytes_per_second, 10e9));
    QCOMPARE(device.instruction_latency, latency);
    QCOMPARE(device.memory_bytes, standard_host().device.memory_bytes);
  }

  // Each of these laws of a kernel's time is found again: what it was measured at costs what it took.
  void kernels_cost_what_they_took() {
    Measurements measured = memory_alone();
    const double few = 600e3, many = 60e6;  // in L2, in memory
    const auto add = [&](const char* family, double bytes, double flops, double seconds,
                         Precision precision = Precision::f32) {
      measured.kernels.push_back({family, precision, bytes, flops, took(latency + seconds)});
    };
    add("streaming", few, few, few / 40e9);
    add("streaming", many, many, many / 10e9);
    add("slow_streaming", few, few, few / 20e9);
    add("slow_streaming", many, many, many / 8e9);
    add("computing", few, few, few / 5e9);
    add("computing", many, many, many / 5e9);
    add("computing", few / 2, few, few / 10e9, Precision::bf16);
    add("no_flops", few, 0, few / 20e9);
    add("no_flops", many, 0, many / 5e9);
    add("faster_than_its_bytes", many, 0, many / 50e9);
    add("attention", few, 100 * few, 100 * few / 80e9);
    add("attention", many, 400 * many, 400 * many / 60e9);
    measured.kernels.push_back({"too_short", Precision::f32, few, few, took(1.5 * latency)});
    const Machine machine = machine_of(measured);
    const MachinePrices prices(machine, cores);
    const auto cost = [&](const char* family, double bytes, double flops, Precision precision = Precision::f32) {
      return prices.local_seconds(family, bytes, flops, precision) - latency;
    };
    QVERIFY(near(cost("streaming", few, few), few / 40e9));
    QVERIFY(near(cost("streaming", many, many), many / 10e9));
    QVERIFY(near(cost("slow_streaming", few, few), few / 20e9));
    QVERIFY(near(cost("slow_streaming", many, many), many / 8e9));
    QVERIFY(near(cost("computing", few, few), few / 5e9));
    QVERIFY(near(cost("computing", many, many), many / 5e9));
    QVERIFY(near(cost("computing", few / 2, few, Precision::bf16), few / 10e9));
    QVERIFY(near(machine.device.kernels.at("no_flops").efficiency, 0.5));
    QCOMPARE(machine.device.kernels.at("faster_than_its_bytes").efficiency, 1.0);
    QCOMPARE(machine.device.kernels.at("attention").efficiency, 1.0);
    QVERIFY(near(machine.device.kernels.at("attention").flops_per_second.at(Precision::f32), std::sqrt(80e9 * 60e9)));
    QVERIFY(!machine.device.kernels.contains("too_short"));
  }

  // Every kind costs, among any ranks, what it was measured to take.
  void collectives_cost_what_they_took() {
    Measurements measured = memory_alone();
    struct Kind {
      InstructionKind kind;
      double latency, per_member, per_byte;
    };
    const Kind kinds[] = {{InstructionKind::all_reduce, 20e-6, 3e-6, 1 / 2e9},
                          {InstructionKind::all_gather, 10e-6, 4e-6, 1 / 5e9},
                          {InstructionKind::all_to_all, 15e-6, 0, 1 / 4e9},
                          {InstructionKind::collective_permute, 12e-6, 1e-6, 1 / 3e9}};
    const auto seconds = [&](const Kind& kind, int ranks, double payload) {
      const double bytes = wire_bytes(kind.kind, payload, ranks) * ranks / cores;
      return kind.latency + ranks * kind.per_member + bytes * kind.per_byte;
    };
    for (const Kind& kind : kinds) {
      for (int ranks : {2, 4, 8}) {
        for (double payload : {1e3, 1e5, 1e7}) {
          measured.collectives.push_back({kind.kind, ranks, payload, took(seconds(kind, ranks, payload))});
        }
      }
    }
    const Machine machine = machine_of(measured);
    QVERIFY(near(machine.levels.front().bytes_per_second, 5e9));
    QVERIFY(near(machine.levels.front().latency, 10e-6));
    for (const CollectiveTiming& timing : measured.collectives) {
      const MachinePrices prices(machine, timing.ranks);
      std::vector<int> all;
      for (int rank = 0; rank < timing.ranks; ++rank) all.push_back(rank);
      const GroupPlacement group = prices.place({all});
      QVERIFY(near(prices.collective_seconds(timing.collective, timing.payload, group), timing.time.seconds, 1e-6));
    }
  }

  void rates_of_disturbed_collectives_stay_near_and_none_is_negative() {
    std::vector<CollectiveTiming> timings;
    int number = 0;
    for (int ranks : {2, 4, 8}) {
      for (double payload : {1e3, 1e5, 1e7}) {
        const double bytes = wire_bytes(InstructionKind::all_gather, payload, ranks) * ranks / cores;
        const double seconds = (20e-6 + bytes / 3e9) * (++number % 2 ? 1.05 : 0.95);
        timings.push_back({InstructionKind::all_gather, ranks, payload, took(seconds)});
      }
    }
    const CollectiveRates rates = fit_collective(timings, cores);
    QVERIFY(near(rates.seconds_per_byte, 1 / 3e9, 0.06));
    QVERIFY(rates.latency >= 0 && rates.latency_per_member >= 0);
    QVERIFY(near(rates.latency + 4 * rates.latency_per_member, 20e-6, 0.1));

    // Times that fall with the ranks have no latency of a member.
    timings = {{InstructionKind::all_gather, 2, 1e3, took(40e-6)}, {InstructionKind::all_gather, 8, 1e3, took(20e-6)}};
    QCOMPARE(fit_collective(timings, cores).latency_per_member, 0.0);
  }

  void sources_say_date_repetitions_and_spread() {
    Measurements measured = memory_alone();
    measured.other_work = 0.034;
    measured.products = {product(600, 600, 600, 50e9), product(24, 24, 600, 20e9)};
    measured.products[1].time.spread = 0.2;
    measured.products[1].time.repetitions = 90;
    const Machine machine = machine_of(measured);
    QCOMPARE(machine.source, std::string("2026-11-24, measured while other work used 3 % of the cores"));
    QCOMPARE(machine.device.memory[0].source, std::string("2026-11-24, 9 repetitions, spread 5 %"));
    QCOMPARE(machine.device.products.at(Precision::f32).source,
             std::string("2026-11-24, 2 timings, 9 to 90 repetitions, spread 20 % (at most 20 %)"));
  }

  void more_than_a_tenth_of_the_cores_for_others_disturbs() {
    Measurements measured;
    measured.other_work = 0.09;
    QVERIFY(!is_disturbed(measured));
    measured.other_work = 0.11;
    QVERIFY(is_disturbed(measured));
  }
};

REGISTER_TEST(CalibrationTest)

}  // namespace calibration_test

#include "calibration_test.moc"
