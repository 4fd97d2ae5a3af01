#include <QtTest>
#include <cmath>

#include "engine/runtime/calibration.h"
#include "tests/test_program.h"

namespace calibration_test {

using namespace shardscope;

class CalibrationTest : public QObject {
  Q_OBJECT

 private slots:
  void every_rate_is_measured() {
    DeviceProfile standard, measured = calibrate();
    auto is_measured = [](double value, double unmeasured) {
      return std::isfinite(value) && value > 0 && value != unmeasured;
    };
    QVERIFY(is_measured(measured.matrix_flops_per_core, standard.matrix_flops_per_core));
    QVERIFY(is_measured(measured.matrix_flops_per_core_bf16, standard.matrix_flops_per_core_bf16));
    QVERIFY(!measured.bf16_products.empty());
    QVERIFY(is_measured(measured.memory_bytes_per_core, standard.memory_bytes_per_core));
    QVERIFY(is_measured(measured.collective_bytes_per_core, standard.collective_bytes_per_core));
    QVERIFY(is_measured(measured.collective_latency, standard.collective_latency));
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
