#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/instruction_kind.h"
#include "engine/machine/precision.h"

namespace shardscope {

// What calibration times on a host, with the kernels and the communicator that a training uses. Work of one core runs
// on all cores at the same time, as that of ranks does: a thread and arrays of its own on each. Shapes are none of the
// presets'.

// Bytes that a training step touches between an array's uses, on a core: more than its own cache holds. Parameters and
// their optimizer's states wait for a whole step.
inline constexpr double bytes_between_uses = 4 << 20, bytes_between_updates = 64 << 20;

// Seconds between two repetitions. A training step uses an array, and the code of an op, once among much else; what was
// not touched for milliseconds is in no cache of a host that other programs or virtual machines use, too.
inline constexpr double seconds_between_uses = 1e-3;

// Of repetitions of one piece of work.
struct Timing {
  double seconds = 0;  // median
  double spread = 0;   // between the quartiles, relative to the median
  int repetitions = 0;
};

struct ProductTiming {
  Precision precision = Precision::f32;
  int64_t m = 1, n = 1, k = 1;
  bool transposed_left = false;
  Timing time;
};

// Streaming additions that touch `bytes`, which fit this level and not the one before it.
struct MemoryTiming {
  std::string level;
  int64_t capacity_bytes = 0;  // 0: unbounded
  bool shared = false;         // by all cores
  double bytes = 0;
  Timing time;
};

struct KernelTiming {
  std::string family;
  Precision precision = Precision::f32;
  double bytes = 0, flops = 0;  // as WorkPrices counts them
  Timing time;
};

// Of one collective, among ranks that are threads.
struct CollectiveTiming {
  InstructionKind collective = InstructionKind::all_reduce;
  int ranks = 2;
  double payload = 0;  // bytes, as Instruction has it
  Timing time;
};

struct Measurements {
  std::string date;  // 2026-11-24
  int cores = 1;
  double other_work = 0;      // share of the cores' time that other processes took
  std::string bf16_products;  // how the machine computes them
  Timing instruction;         // of an addition of 16 numbers
  std::vector<ProductTiming> products;
  std::vector<MemoryTiming> memory;  // from inside out
  std::vector<KernelTiming> kernels;
  std::vector<CollectiveTiming> collectives;
};

// Each takes about so many seconds, and not less than a few repetitions of everything small do.
Measurements measure(double seconds);
Timing measure_instruction(int cores, double seconds);
// m, n and k of a grid, without the products that there is no time for; each plain and with its left operand
// transposed.
std::vector<ProductTiming> measure_products(int cores, double seconds);
std::vector<MemoryTiming> measure_memory(int cores, double seconds);
std::vector<KernelTiming> measure_kernels(int cores, double seconds);
std::vector<CollectiveTiming> measure_collectives(double seconds);
// Share of the cores' time, 0 to 1, that a thread on each does not get.
double measure_other_work(int cores, double seconds);

}  // namespace shardscope
