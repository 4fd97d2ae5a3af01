#pragma once

#include <span>

#include "engine/machine/group_placement.h"

namespace shardscope {

// Bytes that each of p devices sends, by the ring convention, of payload n (program/instruction.h): all-reduce 2
// (p-1)/p n, all-gather and reduce-scatter (p-1)/p of the full size, all-to-all (p-1)/p of the local size, permute n.
double wire_bytes(InstructionKind collective, double payload, int64_t members);

// What one collective takes by one rule. With p members, n payload, W = wire_bytes(), and latencies, messages and
// seconds per byte of LevelTraffic; A: the sum over levels of `in_ring` x latency, L the largest latency:
//
//   bytes          all-reduce, all-gather, reduce-scatter: W x the slowest level's `ring`
//                  all-to-all: the sum over levels of n x `all_to_all`
//                  permute: n x the slowest level's `one_way`
//   ring           A + bytes; all-reduce 2 A + bytes; permute L + bytes
//                  (Patarasu & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations")
//   tree           as ring, with ceil(log2 u) messages among the u units of the outermost level: recursive halving and
//                  doubling (Thakur, Rabenseifner & Gropp 2005, "Optimization of collective communication operations in
//                  MPICH"); within them a chain, as NCCL's trees have it (NCCL 2.18, src/graph/tuning.cc). An
//                  all-to-all has no tree and takes what it takes as ring
//   hierarchical   on each level from inside out a ring among its u units, in which the members of each have equal
//                  parts of n: reduce-scatter inside, all-reduce across, all-gather inside, as NCCL and Megatron-LM do:
//                  all-gather, reduce-scatter: the sum of `messages` x latency + (u-1)/u n x `shared`; all-reduce
//                  twice that. All-to-all: the sum of `messages` x latency + n x `exchange`
//   direct         L + bytes: one rendezvous, then peers read in place
//
// The rule adds `latency` + p x `latency_per_member`; bytes take 1/efficiency of their time. Groups of one take
// nothing.
//
// Example: 2 hosts of 4 devices, inside 100 GB/s and 1 us, across 10 GB/s a device and 5 us; all-reduce of 80 MB among
// all 8, ring: 2 (6 x 1 us + 1 x 5 us) + 140 MB x max(1/100, 1/4/10) s/GB = 0.022 + 3.5 ms; hierarchical:
// 2 (3 us + 60 MB / 100 GB/s) + 2 (5 us + 10 MB / 10 GB/s) = 1.206 + 2.01 ms.
double collective_seconds(InstructionKind collective, double payload, const GroupPlacement& groups,
                          const CollectiveRule& rule);

// What a collective takes over a level where a machine has no rule: see Algorithm. Ranks that share the cores of hosts
// sum on each host before they send, and send what others gather to each host once (comm/mpi_hosts_communicator.h).
CollectiveRule standard_rule(InstructionKind collective, const Level& level, const Machine& machine);

// collective_seconds() by the rules of a machine. Not below what a smaller payload takes: where a rule ends at b bytes
// and the next would be faster at once, larger payloads take at least what b bytes take. Throws Failure for what is no
// collective.
double collective_seconds(InstructionKind collective, double payload, const GroupPlacement& groups,
                          const Machine& machine);

// At least what a byte of payload adds by the rules of a machine, whatever the payload: without latency, and by the
// fastest of the rules.
double least_seconds_per_byte(InstructionKind collective, const GroupPlacement& groups, const Machine& machine);

}  // namespace shardscope
