#include "engine/worker/sampled_number.h"

#include <QTest>

#include "tests/test_program.h"

namespace sampled_number_test {

using namespace shardscope;

namespace {

int64_t measured = 0;
int64_t count() { return ++measured; }

}  // namespace

class SampledNumberTest : public QObject {
  Q_OBJECT

 private slots:
  void it_is_measured_twice_and_then_once_an_interval() {
    constexpr int64_t an_hour_ns = 3'600'000'000'000;
    SampledNumber number(count, an_hour_ns);
    measured = 0;
    for (int i = 0; i < 1000; ++i) QCOMPARE(number.value(), int64_t{i == 0 ? 1 : 2});
    QCOMPARE(measured, int64_t{2});
  }
};

REGISTER_TEST(SampledNumberTest)

}  // namespace sampled_number_test

#include "sampled_number_test.moc"
