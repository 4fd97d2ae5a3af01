#include <QTest>

#include "engine/machine/memory_time.h"
#include "engine/machine/product_efficiency.h"
#include "tests/machine/random_machine.h"
#include "tests/test_program.h"

namespace interpolation_test {

using namespace shardscope;

namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

double time_of(const ProductSample& sample) {
  return static_cast<double>(sample.m) * static_cast<double>(sample.n) * static_cast<double>(sample.k) /
         sample.efficiency;
}

bool is_smaller(const ProductSample& a, const ProductSample& b) { return a.m <= b.m && a.n <= b.n && a.k <= b.k; }

}  // namespace

// Efficiencies of products between samples, and times of memory between cache sizes.
class InterpolationTest : public QObject {
  Q_OBJECT

 private slots:
  void the_worked_examples_of_the_headers_hold() {
    const ProductSample samples[] = {{64, 64, 64, 0.2, ""}, {256, 64, 64, 0.8, ""}};
    QVERIFY(near(ProductEfficiency(samples).at(128, 64, 64), 0.4));
    const MemoryTime memory({{1e6, 1e-9}, {0, 4e-9}});
    QVERIFY(near(memory.seconds(1e6), 1e-3) && near(memory.seconds(1.5e6), 3.75e-3) && near(memory.seconds(2e6), 8e-3));
  }

  void no_samples_are_the_peak_and_one_is_a_constant() {
    const ProductSample one{100, 200, 300, 0.3, ""};
    for (int64_t size : {1, 100, 255, 100000}) {
      QCOMPARE(ProductEfficiency().at(size, size, 7), 1.0);
      QVERIFY(near(ProductEfficiency({&one, 1}).at(size, 2 * size, size), 0.3));
    }
  }

  void interpolation_passes_through_its_samples() {
    test::RandomMachines random(1);
    int tried = 0;
    for (int i = 0; i < 500; ++i) {
      const std::vector<ProductSample> samples = random.samples();
      const ProductEfficiency efficiency(samples);
      for (const ProductSample& sample : samples) {
        const bool is_consistent = std::ranges::all_of(samples, [&](const ProductSample& other) {
          return !is_smaller(other, sample) || time_of(other) <= time_of(sample);
        });
        const double at = efficiency.at(sample.m, sample.n, sample.k);
        QVERIFY(is_consistent ? near(at, sample.efficiency) : at < sample.efficiency);
        tried += is_consistent;
      }
    }
    QVERIFY(tried > 500);
  }

  void a_larger_product_takes_no_less_time_and_none_beats_the_samples() {
    test::RandomMachines random(2);
    for (int i = 0; i < 300; ++i) {
      const std::vector<ProductSample> samples = random.samples();
      if (samples.empty()) continue;
      const ProductEfficiency efficiency(samples);
      const double best = std::ranges::max(samples, {}, &ProductSample::efficiency).efficiency;
      for (int j = 0; j < 50; ++j) {
        ProductSample small{random.size(16384), random.size(16384), random.size(16384), 1, ""}, large = small;
        for (int64_t* size : {&large.m, &large.n, &large.k}) *size += random.below(2) ? random.size(1000) - 1 : 0;
        for (ProductSample* sample : {&small, &large}) {
          sample->efficiency = efficiency.at(sample->m, sample->n, sample->k);
          QVERIFY(sample->efficiency > 0 && sample->efficiency <= best * (1 + 1e-9));
        }
        QVERIFY(time_of(large) >= time_of(small) * (1 - 1e-9));
      }
    }
  }

  void a_level_no_larger_than_one_before_it_does_not_count() {
    const MemoryTime memory({{100, 1}, {50, 2}, {0, 3}});
    QCOMPARE(memory.seconds(100), 100.0);
    QCOMPARE(memory.seconds(150), 150 * 2.0);
    QCOMPARE(memory.seconds(200), 200 * 3.0);
  }

  void times_of_memory_are_continuous_rise_and_keep_to_the_levels_rates() {
    test::RandomMachines random(3);
    for (int i = 0; i < 300; ++i) {
      std::vector<MemoryShare> levels;
      for (int j = 1 + random.below(4); j > 0; --j) levels.push_back({random.real(1, 1e9), random.real(1e-13, 1e-8)});
      std::ranges::sort(levels, {}, &MemoryShare::capacity_bytes);
      const MemoryTime memory(levels);
      const double first = levels.size() == 1 ? 1e6 : levels[0].capacity_bytes;
      QVERIFY(near(memory.seconds(first), first * levels[0].seconds_per_byte));
      double slowest = 0;
      for (const MemoryShare& level : levels) slowest = std::max(slowest, level.seconds_per_byte);
      QVERIFY(near(memory.seconds(1e12), 1e12 * slowest));
      for (int j = 0; j < 50; ++j) {
        const double bytes = random.real(1, 1e10), seconds = memory.seconds(bytes);
        QVERIFY(memory.seconds(bytes * random.real(1, 2)) >= seconds);
        const double step = bytes * 1e-9;
        QVERIFY(memory.seconds(bytes + step) - seconds <= 1e-6 * bytes * slowest);
      }
      for (const MemoryShare& level : levels) {
        const double before = memory.seconds(level.capacity_bytes * (1 - 1e-12));
        const double after = memory.seconds(level.capacity_bytes * (1 + 1e-12));
        QVERIFY(after - before <= 1e-9 * level.capacity_bytes * slowest);
      }
    }
  }
};

REGISTER_TEST(InterpolationTest)

}  // namespace interpolation_test

#include "interpolation_test.moc"
