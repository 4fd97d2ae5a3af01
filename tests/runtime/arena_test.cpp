#include <QTest>
#include <cstring>
#include <random>
#include <vector>

#include "engine/base/error.h"
#include "engine/runtime/arena.h"
#include "tests/test_program.h"

namespace arena_test {

using namespace shardscope;

namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

std::span<std::byte> bytes_of(std::vector<Line>& lines) { return {lines.data()->bytes, lines.size() * sizeof(Line)}; }

}  // namespace

class ArenaTest : public QObject {
  Q_OBJECT

 private slots:
  void nothing_is_measured_before_anything_is_written() {
    std::vector<Line> lines(1000);
    QCOMPARE(Arena(bytes_of(lines)).measured_bytes(), int64_t{0});
  }

  void measured_is_the_end_of_the_highest_line_written() {
    std::mt19937 random(1);
    std::vector<Line> lines(500);
    const std::span<std::byte> memory = bytes_of(lines);
    for (int repeat = 0; repeat < 200; ++repeat) {
      const Arena arena(memory);
      size_t highest = 0;
      for (int write = 0; write < 5; ++write) {
        const size_t start = random() % (memory.size() - 64) / 4 * 4, size = 4 + random() % 15 * 4;
        const float value = static_cast<float>(random() % 3) - 1;  // zeros, too, are writes
        for (size_t at = start; at < start + size; at += 4) std::memcpy(memory.data() + at, &value, 4);
        highest = std::max(highest, start + size);
      }
      QCOMPARE(arena.measured_bytes(), static_cast<int64_t>((highest + 63) / 64 * 64));
    }
  }

  void memory_that_is_not_whole_aligned_lines_is_refused() {
    std::vector<Line> lines(4);
    QVERIFY_THROWS_EXCEPTION(Failure, Arena(bytes_of(lines).subspan(4, 64)));
    QVERIFY_THROWS_EXCEPTION(Failure, Arena(bytes_of(lines).first(70)));
  }
};

REGISTER_TEST(ArenaTest)

}  // namespace arena_test

#include "arena_test.moc"
