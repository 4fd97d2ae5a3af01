#pragma once

#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/shape.h"
#include "engine/mesh/axis_names.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// jax.sharding.PartitionSpec: for each dimension the mesh axes that split it, major to minor. An empty list is
// JAX's None; dimensions past the end are replicated.
struct PartitionSpec {
  std::vector<std::vector<std::string>> dims;
  bool operator==(const PartitionSpec&) const = default;
};

// "PartitionSpec('data', None)", "PartitionSpec(('data', 'model'),)": as JAX prints it.
std::string to_string(const PartitionSpec& spec);

// JAX's checks in JAX's order: duplicate axis, unknown axis, rank, divisibility (codes duplicate_axis,
// unknown_axis, rank, indivisible). The first failing kind is reported; `where` is the spec's place in the run
// file, and an error about one dimension adds "[i]" to it. The hint says what would be legal; of names it ends with
// what JAX says of the same spec on the same mesh, word by word.
std::vector<Error> check(const PartitionSpec& spec, const Mesh& mesh, const Shape& shape, const std::string& where);

// The first two of these checks, which need no shape: duplicate_axis, unknown_axis.
std::vector<Error> check_names(const PartitionSpec& spec, const Mesh& mesh, const std::string& where,
                               const std::vector<LogicalName>& logical = {});
// Likewise of axes that are no spec of their own: without JAX's words, and all at `where`.
std::vector<Error> check_axes(const std::vector<std::string>& axes, const Mesh& mesh, const std::string& where,
                              const std::vector<LogicalName>& logical = {});

// The sharding that `spec` means for an array of rank `rank`. The spec must have passed check().
Sharding to_sharding(const PartitionSpec& spec, const Mesh& mesh, int rank);

// The spec of a sharding without partial axes, one entry per dimension.
PartitionSpec to_spec(const Sharding& sharding, const Mesh& mesh);

}  // namespace shardscope
