#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/instruction_kind.h"
#include "engine/machine/precision.h"

namespace shardscope {

// What a program runs on: devices, the links that join them, and what work costs there. A plain value, read from a JSON
// file (machine_file.h); prices are machine_prices.h. Units: seconds, bytes, FLOP. Each struct may say where its
// numbers are from, and when, in `source`.
//
// Example: hosts of 8 GPUs. Level 0 "nvlink": count 8, a switch, 300e9 B/s. Level 1 "infiniband": as many hosts as the
// run has, a switch, 25e9 B/s of each card, shared_by 1 (a card each). Devices 0 to 7 are the first host.

template <class T>
using PrecisionMap = std::map<Precision, T, std::less<>>;

// The share of the peak rate that a product of an m x k by a k x n matrix reaches, 0 < efficiency <= 1.
struct ProductSample {
  int64_t m = 1, n = 1, k = 1;
  double efficiency = 1;
  std::string source;
  bool operator==(const ProductSample&) const = default;
};

// A kernel of matrix products: units of the device each make one m x n tile of the result at a time, in waves. Each
// tile takes `depth` more steps along k than k, for its beginning and end. A unit reaches `efficiency` of its share of
// the peak.
struct ProductTile {
  int64_t m = 128, n = 128;
  double depth = 0;
  double efficiency = 1;
  std::string source;
  bool operator==(const ProductTile&) const = default;
};

// Matrix products in one precision. Between samples: product_efficiency.h; without samples the peak rate is reached, by
// the fastest of the tiles (product_tiles.h) where there are any.
struct ProductRate {
  double flops_per_second = 0;                 // peak
  std::vector<ProductSample> efficiency;       // of plain products
  std::vector<ProductSample> transposed_left;  // of those whose left operand is stored transposed; empty: as plain
  std::string source;
  int units = 1;                        // of the device that tiles are spread over: multiprocessors, matrix units
  double flops_per_cycle = 0;           // of one unit, and
  double clock_hz = 0;                  // cycles in a second, where the peak is published with them; 0: not known
  std::vector<ProductTile> tiles = {};  // kernels to choose from
  bool operator==(const ProductRate&) const = default;
};

// How a family of instructions ("gelu", "attention", "adam") uses the device, where it differs from streaming.
struct KernelRate {
  double efficiency = 1;                  // 0 < efficiency <= 1, of whichever rate limits it
  PrecisionMap<double> flops_per_second;  // instead of the device's vector rate
  std::string source;
  bool operator==(const KernelRate&) const = default;
};

// One level of memory or cache.
struct MemoryLevel {
  std::string name;
  int64_t capacity_bytes = 0;  // 0: unbounded, which the last level is taken to be in any case
  double bytes_per_second = 0;
  bool shared = false;  // of a host's cores: capacity and rate are those of all cores together, not of one
  std::string source;
  bool operator==(const MemoryLevel&) const = default;
};

// own: each rank has a device of its own. host_cores: the ranks of a host share its cores evenly; rates are of one
// core. The host of a rank is then its unit of the outermost level of kind shared_memory (all devices, where there is
// none).
enum class DeviceKind : uint8_t { own, host_cores };

struct Device {
  DeviceKind kind = DeviceKind::own;
  int cores = 1;                    // of a host (host_cores)
  int64_t memory_bytes = 0;         // of a device; of a host, shared by its ranks (host_cores)
  double instruction_latency = 0;   // starting one instruction, s
  double vector_flops = 0;          // FLOP/s of work that is no matrix product; 0: priced by its bytes alone
  std::vector<MemoryLevel> memory;  // from inside out, at least one
  PrecisionMap<ProductRate> products;
  std::map<std::string, KernelRate, std::less<>> kernels;  // by family
  std::string bf16_products;  // how they are computed, for people ("oneDNN"); empty: not known
  std::string source;
  double issue_seconds = 0;      // between two instructions at least: the program's own time to issue one
  bool issues_ahead = false;     // by a program on the host, ahead of the device, which waits where that is late
  double memory_efficiency = 1;  // share of the outermost memory's rate that work which streams reaches
  // Of issue_seconds, what an instruction takes the device at least, and what it takes the host.
  double least_seconds() const { return issues_ahead ? 0 : issue_seconds; }
  double host_seconds() const { return issues_ahead ? issue_seconds : 0; }
  bool operator==(const Device&) const = default;
};

enum class LevelKind : uint8_t { ring, torus, switched, shared_memory };

// What joins units of the level below (of the innermost level: devices) to one unit of this level.
struct Level {
  // Special values of shared_by.
  static constexpr int whole_unit = 0;   // all devices of the unit below share one link (of level 0: of the unit)
  static constexpr int host_cores = -1;  // the traffic is copying by the cores: the rate is of one core

  std::string name;
  LevelKind kind = LevelKind::switched;
  std::vector<int> count;  // of units of the level below: one number: each unit has as many; several: of each unit in
                           // order; none: as many as the run has (the outermost level alone)
  std::vector<int> dims;   // of a torus, major first; their product is the count
  bool wraps = true;       // a ring or torus closes along each dimension of at least 3
  double bytes_per_second = 0;  // of one link in one direction. A device has one link to a switch or to shared memory,
                                // two along each dimension of a ring or torus
  double latency = 0;           // of one message, or of one rendezvous of a group in shared memory, s
  int shared_by = 1;            // so many consecutive devices of the unit below share a link
  std::string source;
  double message_efficiency = 1;  // share of a link's rate that a message from one device to another reaches
  bool operator==(const Level&) const = default;
};

// direct: members publish and read each other's arrays in place (shared memory). Formulas: collective_seconds.h.
enum class Algorithm : uint8_t { ring, tree, hierarchical, direct };

// Which algorithm a collective takes. The first rule that speaks of its kind, of the level of its group (the outermost
// in which members differ) and of its size decides. Where none does: direct on shared memory; else hierarchical between
// hosts of host_cores, but for all-to-alls, and ring.
struct CollectiveRule {
  std::optional<InstructionKind> collective;  // nothing: any
  std::string level;                          // empty: any
  int64_t up_to_bytes = 0;                    // of payload; 0: any size
  Algorithm algorithm = Algorithm::ring;
  double efficiency = 1;          // share of the links' rate that is reached
  double latency = 0;             // of a call, beside that of its messages, s
  double latency_per_member = 0;  // and for each member of the group, s
  std::string source;
  bool operator==(const CollectiveRule&) const = default;
};

// Two streams that may run at the same time, and how many times as long each takes while both run (>= 1). A stream is
// "compute" or the name of a level, whose communication it is. Streams that no rule joins run one after the other; of
// several rules for a pair the first holds.
struct OverlapRule {
  std::string stream = "compute";
  std::string beside;
  double slowdown = 1;         // of `stream`
  double beside_slowdown = 1;  // of `beside`
  std::string source;
  bool operator==(const OverlapRule&) const = default;
};

// How far predictions were from published measurements of this machine.
struct Evidence {
  int64_t measurements = 0;         // that back the numbers; 0: unverified
  double time_error = 0;            // mean of absolute relative errors of step times, of held-out measurements
  int64_t memory_measurements = 0;  // of these, with memory
  double memory_error = 0;          // likewise of memory
  std::string source;
  bool operator==(const Evidence&) const = default;
};

struct Machine {
  std::string name;
  Device device;
  std::vector<Level> levels;  // from inside out; none: one device alone
  std::vector<CollectiveRule> collectives;
  std::vector<OverlapRule> overlap;
  std::string source;
  double price_per_device_hour = 0;  // in the currency of whoever gives it; 0: not known
  Evidence evidence;
  bool operator==(const Machine&) const = default;
};

std::string_view name(DeviceKind kind);
std::string_view name(LevelKind kind);
std::string_view name(Algorithm algorithm);

// The rule for two streams, turned such that `stream` is the first; nothing where they may not run at the same time.
std::optional<OverlapRule> find_overlap(const Machine& machine, const std::string& stream, const std::string& beside);

// The rate and samples that products of this precision are priced by (see substitutes()); null where none is known.
const ProductRate* find_products(const Device& device, Precision precision);

inline constexpr const char* network_name = "network";

// The machine with its hosts (units of the outermost level of kind shared_memory) having so many ranks each, in order;
// as it is where none are given. With more than one host and no level outside of theirs they are joined by a standard
// network: 10 Gbit/s and 50 us a message, one link of each host, which moves messages while the cores compute.
Machine with_hosts(Machine machine, const std::vector<int>& ranks_per_host);

}  // namespace shardscope
