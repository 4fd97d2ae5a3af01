#include "engine/session/step_times.h"

#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/test_program.h"

namespace step_times_test {

using namespace shardscope;

class StepTimesTest : public QObject {
  Q_OBJECT

 private slots:
  void the_median_is_within_one_percent_whatever_the_times() {
    std::mt19937 engine(1);
    for (const double spread : {0.0, 0.1, 3.0}) {
      for (const int steps : {2, 3, 10, 1001, 20000}) {
        StepTimes times;
        times.add(1e9);
        std::vector<double> all;
        for (int i = 1; i < steps; ++i) {
          all.push_back(std::exp(2 + spread * std::normal_distribution<double>()(engine)));
          times.add(all.back());
        }
        std::ranges::sort(all);
        const double median = all[all.size() / 2];
        QVERIFY(std::abs(*times.median() - median) <= 0.01 * median);
        QVERIFY(times.bins().size() < 3000);
        QVERIFY(StepTimes(times.first(), times.bins()) == times);
      }
    }
  }

  void the_first_step_counts_only_while_it_is_alone() {
    StepTimes times;
    QVERIFY(!times.median());
    times.add(900);
    QCOMPARE(*times.median(), 900.0);
    times.add(12);
    QCOMPARE(*times.median(), 12.0);
  }

  void times_that_are_no_numbers_do_no_harm() {
    StepTimes times;
    for (const double ms : {1.0, 0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300})
      times.add(ms);
    QVERIFY(times.median().has_value());
  }
};

REGISTER_TEST(StepTimesTest)

}  // namespace step_times_test

#include "step_times_test.moc"
