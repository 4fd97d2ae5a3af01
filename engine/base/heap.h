#pragma once

#include <cstdint>

namespace shardscope {

// The heap of this process (malloc, new), over all threads: jemalloc's in programs that link it, else the C library's.

// Bytes that the program has allocated and not freed.
int64_t heap_bytes();

// Gives what the heap does not need back to the system.
void trim_heap();

}  // namespace shardscope
