#pragma once

#include <optional>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// An array that a collective of the training step moves.
struct CollectiveMove {
  InstructionKind kind = InstructionKind::all_gather;
  AxisList axes;  // of the group
  Phase phase = Phase::forward;
  ValueId value = no_id;  // of the graph, that is moved
  OpId user = no_id;      // that wants it moved
  Sharding from, to;      // of the whole reshard
  double seconds = 0;     // of a step: its share of the collective's, by bytes
  const Instruction* instruction = nullptr;
};
// Of all stages, in program order; moves of one reshard (a slice, then an all-gather) are several.
std::vector<CollectiveMove> collective_moves(const Plan& plan);

// The parameter that a value is: as it is stored, or cast; as an index into Plan::parameters.
std::optional<size_t> parameter_of(const Plan& plan, ValueId value);

// For `--set`: "sharding.in=[\"data\",null]" of a place and what a sharding is without its partial axes.
std::string spec_setting(const Plan& plan, const std::string& place, const Sharding& sharding);

}  // namespace shardscope
