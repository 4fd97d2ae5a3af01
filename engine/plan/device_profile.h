#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// What the cost model knows of a machine whose ranks share its cores. Rates are of one core; the ranks of a host
// share `cores` evenly. Seconds, bytes, FLOP.
struct DeviceProfile {
  std::string name = "two-core host";
  double cores = 2;
  double matrix_flops_per_core = 100e9;   // f32 matrix products, FLOP/s
  double memory_bytes_per_core = 8e9;     // streaming through memory, B/s
  double collective_bytes_per_core = 5e9; // copying or summing a peer's buffer, B/s
  double collective_latency = 60e-6;      // one rendezvous of a group, s
  double step_latency = 3e-6;             // starting one local op, s
  int64_t memory_bytes = int64_t{16} << 30;  // of the host, shared by its ranks

  // The share of the host that one of `ranks` ranks gets, in cores (may be below one).
  double cores_per_rank(int ranks) const { return cores / ranks; }
  // Threads that one of `ranks` ranks runs: cores / ranks, at least one.
  int threads_per_rank(int ranks) const;

  bool operator==(const DeviceProfile&) const = default;
};

// The standard profile with the cores that this process may use and the memory of this machine.
DeviceProfile host_profile();

}  // namespace shardscope
