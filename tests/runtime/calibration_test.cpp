#include <QtTest>
#include <cmath>

#include "engine/runtime/calibration.h"

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
    QVERIFY(is_measured(measured.memory_bytes_per_core, standard.memory_bytes_per_core));
    QVERIFY(is_measured(measured.collective_bytes_per_core, standard.collective_bytes_per_core));
    QVERIFY(is_measured(measured.collective_latency, standard.collective_latency));
  }
};

QTEST_APPLESS_MAIN(CalibrationTest)
#include "calibration_test.moc"
