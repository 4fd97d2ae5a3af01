#include <QtTest>
#include <cmath>

#include "engine/machine/host_machine.h"
#include "engine/runtime/calibration.h"
#include "tests/machine/host_rates.h"
#include "tests/test_program.h"

namespace calibration_test {

using namespace shardscope;

class CalibrationTest : public QObject {
  Q_OBJECT

 private slots:
  // What is timed twice does not take the same nanoseconds; what is not timed does.
  void every_time_is_measured() {
    const CalibrationTimes first = measure_times(), second = measure_times();
    const auto is_measured = [](double one, double other) {
      return std::isfinite(one) && one > 0 && std::isfinite(other) && other > 0 && one != other;
    };
    QVERIFY(is_measured(first.products, second.products));
    QVERIFY(is_measured(first.products_bf16, second.products_bf16));
    QVERIFY(is_measured(first.addition, second.addition));
    QVERIFY(!first.bf16_products.empty());
    QVERIFY(first.transfer_bytes.size() > 4 && first.transfer_bytes == second.transfer_bytes);
    QCOMPARE(first.transfer_seconds.size(), first.transfer_bytes.size());
    for (double seconds : first.transfer_seconds) QVERIFY(std::isfinite(seconds) && seconds > 0);
    QVERIFY(first.transfer_seconds != second.transfer_seconds);
  }

  void every_rate_follows_from_its_own_time() {
    const CalibrationTimes times{4, 0.5, 0.25, "oneDNN", 0.125, {1e3, 1e6}, {20e-6 + 1e3 / 2e9, 20e-6 + 1e6 / 2e9}};
    Machine machine = machine_of(times);
    const Device &device = machine.device, standard = standard_host().device;
    const auto near = [](double got, double expected) { return std::abs(got / expected - 1) < 1e-9; };
    QVERIFY(near(test::product_rate(machine), 3 * 2.0 * 4096 * 512 * 2048 / 0.5 / 4));
    QVERIFY(near(test::product_rate(machine, Precision::bf16), 3 * 2.0 * 4096 * 512 * 2048 / 0.25 / 4));
    QVERIFY(near(test::memory_rate(machine), 3 * 4.0 * 8192 * 2048 / 0.125 / 4));
    QVERIFY(near(test::copy_rate(machine), 8 * 2e9 / 4));  // eight ranks share four cores
    QVERIFY(near(test::rendezvous_latency(machine), 20e-6));
    QCOMPARE(device.bf16_products, std::string("oneDNN"));
    QCOMPARE(device.cores, standard.cores);
    QCOMPARE(device.instruction_latency, standard.instruction_latency);
    QCOMPARE(device.memory_bytes, standard.memory_bytes);
  }

  void rates_of_transfers_on_a_line_are_found_exactly() {
    const std::vector<double> bytes{32, 256, 2048, 16384, 131072, 8e6};
    std::vector<double> seconds;
    for (double size : bytes) seconds.push_back(20e-6 + size / 3e9);
    const TransferRates rates = fit_transfer_rates(bytes, seconds);
    QVERIFY(std::abs(rates.latency - 20e-6) < 1e-12);
    QVERIFY(std::abs(rates.seconds_per_byte * 3e9 - 1) < 1e-9);
  }

  void rates_of_disturbed_transfers_stay_near_the_line() {
    const std::vector<double> bytes{32, 256, 2048, 16384, 131072, 1e6, 8e6};
    std::vector<double> seconds;
    for (size_t i = 0; i < bytes.size(); ++i) seconds.push_back((20e-6 + bytes[i] / 3e9) * (i % 2 ? 1.05 : 0.95));
    const TransferRates rates = fit_transfer_rates(bytes, seconds);
    QVERIFY(std::abs(rates.latency / 20e-6 - 1) < 0.06);
    QVERIFY(std::abs(rates.seconds_per_byte * 3e9 - 1) < 0.06);
  }
};

REGISTER_TEST(CalibrationTest)

}  // namespace calibration_test

#include "calibration_test.moc"
