#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/machine/machine.h"
#include "engine/machine/stack.h"

namespace shardscope {

// The machine that a run file's value of the key "machine" names, as JSON text:
//
//   (empty)                     this host, as calibrated
//   "host", "dgx_h100", "PATH.json"   find_machine()
//   {"name": "dgx_h100", ...}   that machine with other values in the place of its own, at the paths that a machine
//                               file has; levels by their names: {"levels": {"network": {"bytes_per_second": 1e9}}};
//                               "nodes", or "devices" in all (where both, they agree): how many units its outermost
//                               level has. Fewer devices than a pod has whose links are a torus are a slice of it: the
//                               most compact box, open along its dimensions: 64 of tpu_v5p 4 x 4 x 4
//   {"device": {"kind": ...}}   a machine of its own, as in a machine file
//
// A machine that is named has the numbers that the stack reaches on it (Stack::machines) in the place of its own,
// before those of the value. Hosts have so many ranks each, in order (with_hosts()); empty: as the machine says. Throws
// Failure with the faults, at places that begin with "machine".
Machine chosen_machine(const std::string& json, const std::vector<int>& ranks_per_host, const Stack& stack = {});

// By which key such a value says how many devices there are: "nodes", else "devices"; nothing without one. And the
// value with as many nodes as so many devices need, where it has such a key and fewer; as it is where it names no
// machine.
//
// Example: {"name": "dgx_h100", "nodes": 8} for 100 devices: {"name": "dgx_h100", "nodes": 13}.
struct MachineSize {
  std::string key;
  int64_t number = 0;
};
std::optional<MachineSize> machine_size(const std::string& json);
std::string with_devices(const std::string& json, int64_t devices);

// The value that names a machine, or is one. Of hosts of
// unlike sizes the largest stands for all: a run file lists hosts under "hosts".
std::string machine_choice(const std::string& name);
std::string machine_choice(Machine machine);

// The file that such a value names; empty: this host, a machine of the library, or one of its own. And the value with
// another file in its place.
std::string machine_file(const std::string& json);
std::string with_machine_file(const std::string& json, const std::string& path);

// What such a value says of the network that joins hosts; nothing: as the machine has it.
struct NetworkChoice {
  std::optional<double> bytes_per_second, latency;
  bool operator==(const NetworkChoice&) const = default;
};
NetworkChoice network_choice(const std::string& json);
// Of a machine of its own, what is not given stays, and without a network all does.
std::string with_network(const std::string& json, const NetworkChoice& network);

}  // namespace shardscope
