#include <QtTest>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/base/bfloat16.h"
#include "tests/test_program.h"

namespace bfloat16_test {

using namespace shardscope;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// By the definition: the representable neighbours of x, the nearer of them, the even one of two equally near.
float nearest(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t low = static_cast<uint16_t>(bits >> 16), high = static_cast<uint16_t>(low + 1);
  const double below = std::abs(static_cast<double>(x) - to_float({low}));
  // The neighbour of the largest finite number counts as 2^128 for rounding.
  const double next = std::isinf(to_float({high})) ? std::copysign(std::ldexp(1.0, 128), x) : to_float({high});
  const double above = std::abs(next - x);
  if (below != above) return to_float({below < above ? low : high});
  return to_float({low % 2 == 0 ? low : high});
}

}  // namespace

class BFloat16Test : public QObject {
  Q_OBJECT

 private slots:
  void every_bfloat16_goes_to_float_and_back() {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const BFloat16 x{static_cast<uint16_t>(bits)};
      if (std::isnan(to_float(x))) {
        QVERIFY(std::isnan(to_float(to_bfloat16(to_float(x)))));
      } else {
        QCOMPARE(to_bfloat16(to_float(x)).bits, x.bits);
      }
    }
  }

  void floats_round_to_the_nearest() {
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 9973) {
      const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (std::isfinite(x)) QCOMPARE(to_float(to_bfloat16(x)), nearest(x));
    }
  }

  void ties_round_to_even() {
    for (uint32_t upper = 0; upper < 0x7F80; ++upper) {
      const float tie = std::bit_cast<float>(upper << 16 | 0x8000);
      const uint16_t even = static_cast<uint16_t>(upper % 2 == 0 ? upper : upper + 1);
      QCOMPARE(to_bfloat16(tie).bits, even);
      QCOMPARE(to_bfloat16(-tie).bits, static_cast<uint16_t>(even | 0x8000));
      QCOMPARE(to_bfloat16(std::bit_cast<float>(upper << 16 | 0x8001)).bits, static_cast<uint16_t>(upper + 1));
      QCOMPARE(to_bfloat16(std::bit_cast<float>(upper << 16 | 0x7FFF)).bits, static_cast<uint16_t>(upper));
    }
  }

  void infinities_zeros_and_large_numbers_keep_their_sign() {
    QCOMPARE(to_float(to_bfloat16(infinity)), infinity);
    QCOMPARE(to_float(to_bfloat16(-infinity)), -infinity);
    QCOMPARE(to_float(to_bfloat16(std::numeric_limits<float>::max())), infinity);
    QCOMPARE(to_float(to_bfloat16(std::numeric_limits<float>::lowest())), -infinity);
    QCOMPARE(to_bfloat16(0.0f).bits, uint16_t{0});
    QCOMPARE(to_bfloat16(-0.0f).bits, uint16_t{0x8000});
  }

  void every_nan_stays_a_nan() {
    for (uint32_t payload = 1; payload < 0x800000; payload = payload * 2 + 1) {
      for (uint32_t sign : {0u, 0x80000000u}) {
        const BFloat16 x = to_bfloat16(std::bit_cast<float>(sign | 0x7F800000 | payload));
        QVERIFY(std::isnan(to_float(x)));
        QCOMPARE((x.bits & 0x8000) != 0, sign != 0);
      }
    }
  }
};

REGISTER_TEST(BFloat16Test)

}  // namespace bfloat16_test

#include "bfloat16_test.moc"
