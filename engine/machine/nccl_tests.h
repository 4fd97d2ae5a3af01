#pragma once

#include <string>
#include <vector>

#include "engine/machine/measured_rows.h"

namespace shardscope {

// What the programs of nccl-tests (github.com/NVIDIA/nccl-tests; of rccl-tests, too) print, one run or several:
//
//   # Collective test starting: all_reduce_perf
//   # nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 ...
//   #  Rank  0 Group  0 Pid 729728 on host device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
//   #  ...
//   #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw ...
//   #        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s) ...
//        1048576        262144     float     sum      -1    35.39   29.63   44.44       0    34.44   30.45 ...
//
// `size` is the larger of what a rank sends and what it receives (TimeTest in its src/common.cu prints
// max(sendBytes, expectedBytes)): the full array of an all-gather and of a reduce-scatter (its doc/PERFORMANCE.md), all
// that a rank holds of an all-to-all; so it is the payload of collective_seconds.h for each. `time` is the first of the
// two, out of place, in microseconds. Rows of size 0 are left out. Ranks are those that are listed, taken to be on
// consecutive devices. The collective is what the nearest line above the table names that has NAME_perf: versions
// before 2.17 say it only in the command, if that is kept with the output. What mpirun puts before a line
// ("[1,0]<stdout>:") is skipped, and other lines are.
bool is_nccl_tests(const std::string& text);

// Throws Failure at the line in `name`: a collective that is not said or that no plan has, ranks that are not listed or
// in several groups, a row that is not as the table's head says.
std::vector<MeasuredRow> parse_nccl_tests(const std::string& text, const std::string& name);

}  // namespace shardscope
