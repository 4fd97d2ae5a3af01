#include "engine/base/heap.h"

#include <QTest>
#include <cstddef>
#include <memory>

#include "tests/test_program.h"

namespace heap_test {

using namespace shardscope;

class HeapTest : public QObject {
  Q_OBJECT

 private slots:
  // Allocators round sizes up, by a quarter at most, and take several small ones at a time.
  void heap_bytes_follow_what_is_held() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    QSKIP("the sanitizer has a heap of its own");
#endif
    constexpr int64_t beside = 262'144;
    for (const int64_t size : {10'000, 1'000'000, 100'000'000}) {
      const int64_t before = heap_bytes();
      auto held = std::make_unique<std::byte[]>(static_cast<size_t>(size));
      const int64_t during = heap_bytes();
      QVERIFY(held[static_cast<size_t>(size) / 2] == std::byte{0});
      QVERIFY(during - before >= size && during - before < size + size / 4 + beside);
      held.reset();
      trim_heap();
      QVERIFY(std::abs(heap_bytes() - before) < beside);
    }
  }
};

REGISTER_TEST(HeapTest)

}  // namespace heap_test

#include "heap_test.moc"
