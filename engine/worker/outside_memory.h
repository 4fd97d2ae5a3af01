#pragma once

#include <cstdint>

namespace shardscope {

// Memory of this process that it shares with no other, resident or swapped out: heap, stacks, generated code; not the
// arenas of ranks in shared memory, nor what libraries have in files. As the kernel counts it (/proc/self/smaps_rollup:
// Pss_Anon and SwapPss). 0 where the kernel does not tell.
int64_t private_bytes();

}  // namespace shardscope
