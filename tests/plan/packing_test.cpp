#include "engine/plan/packing.h"

#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/plan/memory_plan.h"
#include "tests/test_program.h"

namespace packing_test {

using namespace shardscope;

namespace {

class RandomBuffers {
 public:
  explicit RandomBuffers(unsigned seed) : random_(seed) {}

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  // Some persistent ones, and others of all sizes and lengths of life.
  ArenaLayout next(int count) {
    ArenaLayout arena;
    arena.length = 1 + below(2 * count);
    for (int i = 0; i < count; ++i) {
      Buffer buffer;
      buffer.bytes = 1 + below(1 << below(20));
      buffer.first = below(arena.length);
      buffer.last = std::min(arena.length - 1, buffer.first + below(1 << below(12)));
      buffer.persistent = below(10) == 0;
      if (buffer.persistent) buffer.first = 0, buffer.last = arena.length - 1;
      arena.buffers.push_back(buffer);
    }
    return arena;
  }

  // A training step of that many equal layers: what each forward layer makes lives until its backward layer, whose
  // gradients live to the end.
  ArenaLayout layers(int count) {
    ArenaLayout arena;
    arena.length = 8 * count;
    const int sizes[] = {64 << below(8), 640 << below(8), 1000 << below(8), 4096 << below(8)};
    for (int layer = 0; layer < count; ++layer) {
      for (int step = 0; step < 4; ++step) {
        const int forward = 4 * layer + step, backward = arena.length - 1 - forward;
        add(arena, sizes[step], forward, backward);
        add(arena, sizes[3 - step], forward, forward);
        add(arena, sizes[step], backward, std::min(backward + 1, arena.length - 1));
        add(arena, sizes[(step + 1) % 4] / 8 + 1, backward, arena.length - 1);
      }
    }
    return arena;
  }

 private:
  static void add(ArenaLayout& arena, int bytes, int first, int last) {
    Buffer buffer;
    buffer.bytes = bytes;
    buffer.first = first;
    buffer.last = last;
    arena.buffers.push_back(buffer);
  }

  std::mt19937 random_;
};

bool apart(const Buffer& a, const Buffer& b) {
  return a.last < b.first || b.last < a.first || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

// The packing by which ours is judged: persistent ones, then the largest first, each at the lowest offset that is free
// for all of its life. Takes the square of the number of buffers.
int64_t first_fit(std::vector<Buffer> buffers) {
  std::stable_sort(buffers.begin(), buffers.end(), [](const Buffer& a, const Buffer& b) {
    return a.persistent != b.persistent ? a.persistent : a.bytes > b.bytes;
  });
  std::vector<const Buffer*> placed;  // by offset
  int64_t top = 0;
  for (Buffer& buffer : buffers) {
    int64_t offset = 0;
    for (const Buffer* other : placed) {
      if (other->last < buffer.first || buffer.last < other->first) continue;
      if (offset + round_up(buffer.bytes) <= other->offset) break;
      offset = std::max(offset, other->offset + round_up(other->bytes));
    }
    buffer.offset = offset;
    top = std::max(top, offset + round_up(buffer.bytes));
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [](const Buffer* other) { return other->offset; }),
                  &buffer);
  }
  return top;
}

}  // namespace

class PackingTest : public QObject {
  Q_OBJECT

 private slots:
  void buffers_that_live_together_lie_apart_in_the_arena() {
    RandomBuffers random(1);
    for (int round = 0; round < 200; ++round) {
      ArenaLayout arena = random.next(1 + random.below(150));
      arena.bytes = pack(arena.buffers, arena.length);
      for (size_t i = 0; i < arena.buffers.size(); ++i) {
        const Buffer& buffer = arena.buffers[i];
        QVERIFY(buffer.offset >= 0 && buffer.offset % line_bytes == 0);
        QVERIFY(buffer.offset + buffer.bytes <= arena.bytes);
        for (size_t j = 0; j < i; ++j) QVERIFY(apart(buffer, arena.buffers[j]));
      }
      verify_memory(arena);
      QVERIFY(arena.bytes >= live_peak(arena.buffers, arena.length).bytes);
    }
  }

  void a_training_step_of_equal_layers_fills_its_arena() {
    RandomBuffers random(2);
    for (int round = 0; round < 100; ++round) {
      ArenaLayout arena = random.layers(1 + random.below(40));
      const int64_t bytes = pack(arena.buffers, arena.length);
      const int64_t bound = live_peak(arena.buffers, arena.length).bytes;
      QVERIFY2(static_cast<double>(bytes) <= 1.02 * static_cast<double>(bound),
               (std::to_string(bytes) + " and " + std::to_string(bound)).c_str());
    }
  }

  void on_average_no_more_is_needed_than_by_first_fit() {
    RandomBuffers random(3);
    double ours = 0, theirs = 0;
    for (int round = 0; round < 100; ++round) {
      ArenaLayout arena = random.next(200);
      const double bound = static_cast<double>(live_peak(arena.buffers, arena.length).bytes);
      ours += static_cast<double>(pack(arena.buffers, arena.length)) / bound;
      theirs += static_cast<double>(first_fit(arena.buffers)) / bound;
    }
    QVERIFY2(ours <= 1.02 * theirs, (std::to_string(ours) + " and " + std::to_string(theirs)).c_str());
  }

  void overlaps_are_found_wherever_they_are() {
    RandomBuffers random(4);
    int found = 0;
    for (int round = 0; round < 300; ++round) {
      ArenaLayout arena = random.next(60);
      arena.bytes = pack(arena.buffers, arena.length);
      Buffer& moved = arena.buffers[random.below(60)];
      moved.offset = round_up(random.below(static_cast<int>(arena.bytes))) - line_bytes;
      bool sound = moved.offset >= 0 && moved.offset + moved.bytes <= arena.bytes;
      for (const Buffer& other : arena.buffers) sound = sound && (&other == &moved || apart(other, moved));
      bool accepted = true;
      try {
        verify_memory(arena);
      } catch (const Failure&) {
        accepted = false;
      }
      QCOMPARE(accepted, sound);
      found += !sound;
    }
    QVERIFY(found > 100);
  }
};

REGISTER_TEST(PackingTest)

}  // namespace packing_test

#include "packing_test.moc"
