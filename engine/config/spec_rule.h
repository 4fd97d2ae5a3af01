#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/mesh/partition_spec.h"

namespace shardscope {

// The kinds of arrays that a spec can be given to; in a run file "parameters", "optimizer", "states" (what else a model
// keeps from step to step), "activations", "inputs", "outputs", "gradients" (of parameters, as the update takes them).
enum class SpecKind : uint8_t { parameter, optimizer_state, state, activation, input, output, gradient };

// Logical dimension names to mesh axes, {"mlp": "model", "embed": null}; an empty list is null: replicated.
struct LogicalAxes {
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;
  bool operator==(const LogicalAxes&) const = default;
};

// Placement by size: the largest dimension that the axes divide (of equals the first) is split over them, in arrays of
// at least `minimum_bytes`.
struct LargestDimension {
  std::vector<std::string> axes;
  int64_t minimum_bytes = 0;
  bool operator==(const LargestDimension&) const = default;
};

// One line of `sharding.rules`. It speaks of the arrays of these kinds whose names match the pattern
// (engine/base/name_pattern.h); what the lines mean together is said in engine/shard/spec_rules.h.
struct SpecRule {
  std::string names = "**";
  std::variant<PartitionSpec, LogicalAxes, LargestDimension> placement;
  std::vector<SpecKind> of = {SpecKind::parameter};  // ascending
  std::vector<std::string> dimensions = {};          // only arrays whose dimensions are called so, all of them; or any
  bool operator==(const SpecRule&) const = default;
};

// One member of `sharding.constraints`: where activations of these names lie.
struct Constraint {
  std::string names;
  PartitionSpec spec;
  bool operator==(const Constraint&) const = default;
};

}  // namespace shardscope
