#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shardscope {

// What joins devices along one mesh axis, where that is not the memory of one host.
struct AxisLink {
  std::string axis;
  double bytes_per_second = 0;  // that a device sends
  double latency = 0;           // of one rendezvous of a group, s

  bool operator==(const AxisLink&) const = default;
};

// What the cost model knows of a machine whose ranks share its cores. Rates are of one core; the ranks of a host
// share `cores` evenly. Seconds, bytes, FLOP.
struct DeviceProfile {
  std::string name = "two-core host";
  double cores = 2;
  double matrix_flops_per_core = 100e9;      // f32 matrix products, FLOP/s
  double matrix_flops_per_core_bf16 = 0;     // bf16 matrix products; 0: not measured, as f32
  std::string bf16_products;                 // how they are computed, for people ("oneDNN"); empty: not measured
  double memory_bytes_per_core = 8e9;        // streaming through memory, B/s
  double collective_bytes_per_core = 5e9;    // copying or summing a peer's buffer, B/s
  double collective_latency = 60e-6;         // one rendezvous of a group, s
  double step_latency = 3e-6;                // starting one local op, s
  int64_t memory_bytes = int64_t{16} << 30;  // of the host, shared by its ranks

  std::vector<AxisLink> links;  // of the axes that a mesh has by these names; the others exchange within the host

  std::vector<int> ranks_per_host;  // of a run on several hosts of this kind, in order; empty: one has all

  // How many of `ranks` ranks share a host, at most.
  int ranks_on_host(int ranks) const;
  // The share of the host that one of `ranks` ranks gets, in cores (may be below one).
  double cores_per_rank(int ranks) const { return cores / ranks_on_host(ranks); }
  // Threads that one of `ranks` ranks runs: cores / ranks of a host, at least one.
  int threads_per_rank(int ranks) const;
  // The number of the host that has this rank.
  int host_of(int rank) const;

  bool operator==(const DeviceProfile&) const = default;
};

// This machine's profile: what `shardrun calibrate` measured where its file exists, else the standard rates; with the
// cores and the memory that this process may use (control_group.h). Throws Failure where the file is there and not a
// profile.
DeviceProfile host_profile();
// The same without looking at the file.
DeviceProfile standard_profile();

// Where calibrated rates are kept: $SHARDSCOPE_PROFILE, else device_profile.json in the user's configuration folder.
std::filesystem::path profile_path();
// Throws Failure with all faults of the file, each at its line.
DeviceProfile load_profile(const std::filesystem::path& path);
void save_profile(const DeviceProfile& profile, const std::filesystem::path& path);

// The text of such a file, and back; `name` stands for it in errors.
std::string profile_text(const DeviceProfile& profile);
DeviceProfile parse_profile(const std::string& text, const std::string& name);

}  // namespace shardscope
