#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// How well a plan uses its devices, by its predicted step.
//
//   model FLOPs     of a step: three times those of forward's matrix products (backward makes two gradients of each),
//                   whatever is recomputed: 6 N + 12 L h s a token for a decoder of N parameters in products, L layers,
//                   width h and sequences of s (Chowdhery et al. 2022, "PaLM", appendix B)
//   hardware FLOPs  those of the products that the program executes: forward, backward and what is recomputed
//                   (Korthikanti et al. 2022). Fewer than the model's, nothing recomputed, where nobody needs the
//                   gradient of the first product's input, and where the stack's attention skips what its mask hides
//   MFU             model FLOPs / (step time x devices x peak), the peak being that of the precision in which most of
//                   the products' FLOPs are
//   HFU             the least time of the hardware FLOPs / (step time x devices): each at the peak of its own
//                   precision, or at the rate that the machine has for their kernel, where that is higher. At most 1
struct Utilisation {
  int devices = 1;
  double seconds = 0;         // of a step
  double tokens = 0;          // of a step: elements of the largest input of integers; 0: there is none
  double model_flops = 0;     // of all devices
  double hardware_flops = 0;  // likewise
  double peak_flops = 0;      // FLOP/s of a device; 0: the machine has no rate
  double least_seconds = 0;   // of one device that executes all of the hardware FLOPs

  double mfu() const { return peak_flops > 0 ? share(model_flops / peak_flops) : 0; }
  double hfu() const { return share(least_seconds); }
  double tokens_per_second() const { return seconds > 0 ? tokens / seconds : 0; }  // of all devices
  // To train on so many tokens.
  double device_hours(double of_tokens) const;

 private:
  double share(double device_seconds) const;
};
Utilisation utilisation(const Plan& plan);

// Of one stage's step: how long its devices wait for collectives over each group of mesh axes, in seconds, the longest
// first.
struct ExposedAxes {
  std::vector<std::string> axes;
  double seconds = 0;
};
std::vector<ExposedAxes> exposed_by_axes(const Plan& plan, int stage);

// What the instructions of a stage's step take, each alone, by kind: the op of a computation ("einsum", of several
// precisions one line each), else the kind of instruction with the mesh axes that it goes over.
struct FamilyWork {
  std::string family;
  std::vector<std::string> axes;
  double seconds = 0;
  int64_t count = 0;  // of instructions that take any time
};
std::vector<FamilyWork> work_by_family(const Plan& plan, int stage);

// Bytes that devices of a stage hold, as the plan's software stack holds them: the arena's categories at its peak; and
// what its allocator and libraries add.
struct StageMemory {
  int stage = 0;
  std::vector<int> devices;
  CategoryBytes categories{};
  int64_t allocator = 0;
  int64_t total = 0;
};
// One of each stage, since all devices of a stage hold the same.
std::vector<StageMemory> memory_of_stages(const Plan& plan);

}  // namespace shardscope
