#pragma once

#include "engine/machine/host_machine.h"

namespace shardscope::test {

// The numbers of a host's machine that tests change, of one core where they are rates.
inline double& product_rate(Machine& machine, Precision precision = Precision::f32) {
  return machine.device.products[precision].flops_per_second;
}
inline double& memory_rate(Machine& machine) { return machine.device.memory.back().bytes_per_second; }
inline double& copy_rate(Machine& machine) { return machine.levels.front().bytes_per_second; }
inline double& rendezvous_latency(Machine& machine) { return machine.levels.front().latency; }

}  // namespace shardscope::test
