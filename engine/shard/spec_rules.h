#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/config/run_config.h"
#include "engine/mesh/mesh.h"
#include "engine/shard/spec_line_use.h"

namespace shardscope {

// An array that may be given a spec. Names are those of the graph: "params/Embed_0/embedding",
// "SelfAttentionBlock_0/MLP_0/gelu", "tokens".
struct SpecTarget {
  std::string name;
  SpecKind kind = SpecKind::parameter;
  TensorType type;
  std::vector<std::string> logical;  // names of its dimensions, "" where one has none; empty: none has
  int follows = -1;                  // of a state: the target whose spec it has where nothing names it
};

// Where one array is, and why.
struct ResolvedSpec {
  PartitionSpec spec;
  bool pinned = false;
  int rule = -1;       // index in sharding.rules of what decided (first); -1: another section of the file, or nothing
  std::string place;   // in the run file, of the same: "sharding.rules[1].axes.mlp"; empty where nothing decided
  std::string origin;  // for people: "sharding.rules[1]: mlp -> model"
};

// The place of `zero`, with which the origin of what it has split begins.
inline constexpr const char* zero_place = "sharding.zero";

struct ResolvedSpecs {
  std::vector<ResolvedSpec> specs;  // one for each target
  std::vector<SpecLineUse> lines;   // in the order of the file
  std::vector<Error> errors;        // in the order of the file
  std::vector<Error> warnings;
  int64_t compared = 0;  // parts of names, with parts of patterns
};

// The specs of all targets by the run file's table. It is ordered; the first that speaks of an array decides:
//
//   1. `in` (every input) and `out` (every output), where they are not empty;
//   2. `parameters` (parameters and states) and `constraints` (activations): exact names, then patterns, as they stand;
//   3. `rules`, as they stand:
//        names + spec   decides the whole of an array that no rule before it spoke of;
//        axes           decides those open dimensions whose logical name it lists (null: replicated);
//        largest        splits the largest open dimension that divides (of equals the first); where none does, it
//                       decides all of them: replicated. It leaves arrays alone that have no open dimension, are
//                       smaller than minimum_bytes, or use one of its axes already.
//   4. A state that nothing speaks of has the spec of the target it follows, where the shapes are equal. Every other
//   array
//      that nothing speaks of is replicated; activations and gradients stay unpinned.
//   5. `zero`: optimizer state, gradients and parameters, as its stage says, lie as they otherwise would (a gradient as
//      its parameter), and the dimension whose parts are largest is split once more, over the axis of `zero`; where
//      none divides, or the array uses the axis already, it stays. State and gradients that a rule speaks of stay, too.
//
// A rule with `dimensions` speaks only of arrays whose dimensions have exactly these logical names.
//
// Example: rules [{"axes": {"mlp": "model"}}, {"largest": "data"}], kernel (embed 512, mlp 2048): mlp by the first,
// embed by the second: ["data", "model"].
//
// Specs by name or pattern are explicit. Errors: duplicate_axis, unknown_axis, rank, indivisible (see check() of
// PartitionSpec; of arrays of one shape that a pattern matches the first is named), and an exact name that no array
// has: unknown_parameter, unknown_optimizer_state, unknown_state, unknown_activation, unknown_input, unknown_output.
// Where targets of a kind are not given at all, names of that kind are not judged.
// Rules by logical name and by size replicate what does not divide (warning: replicated). A mesh axis that they put on
// two dimensions of one array is an error (axis_conflict). A pattern, one of its alternatives, a rule or a logical name
// of a rule that matches nothing is a warning (matches_nothing).
ResolvedSpecs resolve_specs(const ShardingConfig& sharding, const Mesh& mesh, std::span<const SpecTarget> targets);

// What can be said of the table without shapes: duplicate_axis and unknown_axis.
std::vector<Error> check_axis_names(const ShardingConfig& sharding, const Mesh& mesh);

}  // namespace shardscope
