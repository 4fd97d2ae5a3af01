#include "engine/machine/fit_steps.h"

#include <QTest>
#include <cmath>
#include <random>

#include "engine/machine/machine_library.h"
#include "engine/machine/machine_prices.h"
#include "tests/test_program.h"

namespace fit_steps_test {

using namespace shardscope;

namespace {

// A step as some products, attention, streamed bytes and an all-reduce, one after the other.
struct Step {
  int64_t size = 4096;
  double scores = 1e12, bytes = 1e9, payload = 1e8;
  int ranks = 8;
};

std::vector<Step> steps_of(std::mt19937& random, int count) {
  const auto scale = [&](double value) { return value * std::exp2(std::uniform_real_distribution<>(-3, 3)(random)); };
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i)
    steps.push_back({int64_t{1024} << (random() % 3), scale(3e12), scale(1e10), scale(2e9), random() % 2 ? 8 : 32});
  return steps;
}

StepSeconds seconds_of(const std::vector<Step>& steps) {
  return [&steps](const Machine& machine) {
    std::vector<double> seconds;
    for (const Step& step : steps) {
      const MachinePrices prices(machine, step.ranks);
      std::vector<int> all;
      for (int rank = 0; rank < step.ranks; ++rank) all.push_back(rank);
      seconds.push_back(20 * prices.matrix_product_seconds({Precision::bf16, step.size, step.size, step.size}) +
                        prices.local_seconds("attention", 0, step.scores, Precision::bf16) +
                        prices.local_seconds("add", step.bytes) +
                        prices.collective_seconds(InstructionKind::all_reduce, step.payload, prices.place({all})));
    }
    return seconds;
  };
}

double mean_error(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double sum = 0;
  for (size_t i = 0; i < measured.size(); ++i) sum += std::abs(predicted[i] / measured[i] - 1);
  return sum / static_cast<double>(measured.size());
}

double largest_share(const Machine& machine) {
  double largest = machine.device.memory_efficiency;
  for (const auto& [precision, rate] : machine.device.products) {
    for (const ProductSample& sample : rate.efficiency) largest = std::max(largest, sample.efficiency);
    for (const ProductTile& tile : rate.tiles) largest = std::max(largest, tile.efficiency);
  }
  for (const auto& [family, kernel] : machine.device.kernels) largest = std::max(largest, kernel.efficiency);
  return largest;
}

Machine with_attention(Machine machine) {
  for (const char* family : {"attention", "attention_grad"}) {
    KernelRate& kernel = machine.device.kernels[family];
    kernel.flops_per_second[Precision::bf16] = machine.device.products.at(Precision::bf16).flops_per_second;
  }
  return machine;
}

}  // namespace

class FitStepsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_slower_machine_is_found_from_its_step_times_also_for_steps_that_were_not_fitted_to() {
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      std::mt19937 random(seed);
      const auto factor = [&] { return std::uniform_real_distribution<>(0.4, 1)(random); };
      const Machine nominal = with_attention(*library_machine("dgx_h100"));
      Machine real = nominal;
      real.device.products.at(Precision::bf16).efficiency = {{4096, 4096, 4096, factor(), {}}};
      real.device.products.at(Precision::bf16).tiles.clear();
      real.device.memory_efficiency *= factor();
      for (const char* family : {"attention", "attention_grad"}) real.device.kernels[family].efficiency = factor();
      for (Level& level : real.levels) level.bytes_per_second *= factor();
      const std::vector<Step> steps = steps_of(random, 16), others = steps_of(random, 16);
      const std::vector<double> measured = seconds_of(steps)(real), held_out = seconds_of(others)(real);
      const Machine fitted = fit_steps(nominal, measured, {}, seconds_of(steps), "fitted");
      const double before = mean_error(seconds_of(others)(nominal), held_out),
                   after = mean_error(seconds_of(others)(fitted), held_out);
      QVERIFY2(mean_error(seconds_of(steps)(fitted), measured) < 0.03, qPrintable(QString::number(seed)));
      QVERIFY2(after < 0.06 && after < before / 3,
               qPrintable(QString("%1: %2 of %3").arg(seed).arg(after).arg(before)));
    }
  }

  void no_share_is_above_one_and_no_level_faster_where_steps_are_faster_than_the_machine() {
    std::mt19937 random(3);
    const Machine nominal = with_attention(*library_machine("dgx_h100"));
    const std::vector<Step> steps = steps_of(random, 8);
    std::vector<double> measured = seconds_of(steps)(nominal);
    for (double& seconds : measured) seconds /= 4;
    const Machine fitted = fit_steps(nominal, measured, {}, seconds_of(steps), "fitted");
    QVERIFY(largest_share(fitted) <= 1 + 1e-12);
    for (size_t i = 0; i < fitted.levels.size(); ++i)
      QVERIFY(fitted.levels[i].bytes_per_second <= nominal.levels[i].bytes_per_second * (1 + 1e-12));
  }

  void what_other_rows_decided_and_what_no_step_depends_on_stays() {
    std::mt19937 random(5);
    const Machine nominal = with_attention(*library_machine("dgx_h100"));
    const std::vector<Step> steps = steps_of(random, 8);
    std::vector<double> measured = seconds_of(steps)(nominal);
    for (double& seconds : measured) seconds *= 1.7;
    const DecidedRates decided{{Precision::bf16}, {nominal.levels[0].name}};
    const Machine fitted = fit_steps(nominal, measured, decided, seconds_of(steps), "fitted");
    QVERIFY(fitted.device.products == nominal.device.products);
    QVERIFY(fitted.levels[0] == nominal.levels[0]);
    QVERIFY(fitted.device.memory_efficiency < nominal.device.memory_efficiency);
    QVERIFY(mean_error(seconds_of(steps)(fitted), measured) < mean_error(seconds_of(steps)(nominal), measured));
    const std::vector<double> exact = seconds_of(steps)(nominal);
    QCOMPARE(seconds_of(steps)(fit_steps(nominal, exact, {}, seconds_of(steps), "fitted")), exact);
  }

  void half_of_the_names_are_fitted_to_whatever_their_order() {
    std::vector<std::string> names;
    for (int i = 0; i < 17; ++i) {
      const std::vector<bool> half = fitted_half(names);
      QCOMPARE(size_t(std::ranges::count(half, true)), names.size() < fewest_steps ? 0 : (names.size() + 1) / 2);
      const std::vector<std::string> reversed(names.rbegin(), names.rend());
      const std::vector<bool> reversed_half = fitted_half(reversed);
      QVERIFY(std::equal(half.begin(), half.end(), reversed_half.rbegin()));
      names.push_back("run " + std::to_string(i * i));
    }
  }
};

REGISTER_TEST(FitStepsTest)

}  // namespace fit_steps_test

#include "fit_steps_test.moc"
