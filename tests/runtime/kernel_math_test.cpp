#include <QtTest>

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"
#include "tests/test_program.h"

namespace kernel_math_test {

using namespace shardscope;

class KernelMathTest : public QObject {
  Q_OBJECT

 private slots:
  void exponential_is_within_two_units_in_the_last_place();
  void exponential_is_exact_at_the_ends();
  void ranges_cover_every_index_once_with_borders_on_grains();
  void one_range_runs_on_the_calling_thread();
  void exception_of_a_range_reaches_the_caller();
  void thread_limit_is_lifted_at_its_end();
};

void KernelMathTest::exponential_is_within_two_units_in_the_last_place() {
  double worst = 0;
  constexpr double lowest = -87.33, highest = 88.72;
  auto check = [&](float x) {
    const double expected = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(vector_exp(x) - expected) / expected);
  };
  for (int64_t i = 0; i <= 4'000'000; ++i) check(static_cast<float>(lowest + (highest - lowest) * i / 4e6));
  for (uint32_t bits = 0; bits < std::bit_cast<uint32_t>(87.0f); bits += 997) {
    check(std::bit_cast<float>(bits));
    check(-std::bit_cast<float>(bits));
  }
  QVERIFY2(worst < 2.4e-7, qPrintable(QString::number(worst)));
}

void KernelMathTest::exponential_is_exact_at_the_ends() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  QCOMPARE(vector_exp(0.0f), 1.0f);
  QCOMPARE(vector_exp(-0.0f), 1.0f);
  for (float x : {-87.4f, -100.0f, -1e10f, std::numeric_limits<float>::lowest(), -infinity})
    QCOMPARE(vector_exp(x), 0.0f);
  for (float x : {88.73f, 100.0f, 1e10f, std::numeric_limits<float>::max(), infinity})
    QCOMPARE(vector_exp(x), infinity);
  QVERIFY(std::isnan(vector_exp(std::numeric_limits<float>::quiet_NaN())));
  QVERIFY(vector_exp(88.72f) < infinity);
  QVERIFY(vector_exp(-87.33f) >= std::numeric_limits<float>::min());
  QCOMPARE(vector_sigmoid(-infinity), 0.0f);
  QCOMPARE(vector_sigmoid(infinity), 1.0f);
}

void KernelMathTest::ranges_cover_every_index_once_with_borders_on_grains() {
  std::mt19937 engine(1);
  for (int trial = 0; trial < 300; ++trial) {
    const int threads = static_cast<int>(engine() % 4 + 1);
    const int64_t count = engine() % 200, grain = engine() % 20 + 1;
    std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
    std::atomic<int> misplaced = 0;
    parallel_for(threads, count, grain, [&](int64_t begin, int64_t end, int thread) {
      if (begin % grain != 0 || (end % grain != 0 && end != count)) ++misplaced;
      if (begin >= end || thread < 0 || thread >= threads) ++misplaced;
      for (int64_t i = begin; i < end; ++i) ++visits[i];
    });
    QCOMPARE(misplaced.load(), 0);
    for (auto& visit : visits) QCOMPARE(visit.load(), 1);
  }
}

void KernelMathTest::one_range_runs_on_the_calling_thread() {
  thread_local int mark = 0;
  mark = 7;
  int seen = 0;
  parallel_for(1, 1000, 1, [&](int64_t begin, int64_t end, int) { seen += mark * (begin == 0 && end == 1000); });
  QCOMPARE(seen, 7);
}

void KernelMathTest::exception_of_a_range_reaches_the_caller() {
  for (int threads : {1, 2}) {
    QVERIFY_EXCEPTION_THROWN(parallel_for(threads, 100, 1,
                                          [&](int64_t, int64_t end, int) {
                                            if (end == 100) throw std::runtime_error("range");
                                          }),
                             std::runtime_error);
  }
}

void KernelMathTest::thread_limit_is_lifted_at_its_end() {
  const ThreadLimit outer(3);
  auto threads = [] {
    std::atomic<int> count = 0;
#pragma omp parallel
    ++count;
    return count.load();
  };
  {
    const ThreadLimit inner(1);
    QCOMPARE(threads(), 1);
  }
  QCOMPARE(threads(), 3);
}

REGISTER_TEST(KernelMathTest)

}  // namespace kernel_math_test

#include "kernel_math_test.moc"
