#include "engine/base/heap.h"

#include <malloc.h>

#include <cstddef>

// Of jemalloc(3); null in programs without it, such as those with sanitizers.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_size, void* made, size_t size);

namespace shardscope {

int64_t heap_bytes() {
  if (mallctl) {
    uint64_t epoch = 1;
    size_t size = sizeof epoch, allocated = 0;
    mallctl("epoch", &epoch, &size, &epoch, size);
    size = sizeof allocated;
    mallctl("stats.allocated", &allocated, &size, nullptr, 0);
    return static_cast<int64_t>(allocated);
  }
  // mallinfo2 sets up a C library's heap that was never used (a sanitizer has its own), and not safely in several
  // threads: one goes first.
  [[maybe_unused]] static const struct mallinfo2 first = mallinfo2();
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

void trim_heap() {
  if (mallctl) mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // MALLCTL_ARENAS_ALL
  else ::malloc_trim(0);
}

}  // namespace shardscope
