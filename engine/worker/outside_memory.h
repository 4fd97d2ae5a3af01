#pragma once

#include <cstdint>

namespace shardscope {

// Memory of this process that it shares with no other, resident or swapped out: heap, stacks, generated code; not the
// arenas of ranks in shared memory, nor what libraries have in files. As the kernel counts it (/proc/self/smaps_rollup:
// Pss_Anon and SwapPss). 0 where the kernel does not tell.
int64_t private_bytes();

// The same, looked at rarely enough to cost less than a thousandth of the time: the first two times it is asked, then
// after ten seconds or a thousand times what the last look took.
class OutsideMemory {
 public:
  int64_t bytes();

 private:
  int looks_ = 0;
  int64_t due_ns_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace shardscope
