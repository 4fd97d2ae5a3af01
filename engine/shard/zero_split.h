#pragma once

#include "engine/shard/spec_rules.h"

namespace shardscope {

// Step 5 of resolve_specs(), after everything else: what follows a parameter, and at last the parameter, is split once
// more. `result` has the specs of all targets; a mesh that has not all axes of `zero` is an error (unknown_axis,
// duplicate_axis), arrays that stay whole are one warning (replicated).
void split_by_zero(const ZeroConfig& zero, const Mesh& mesh, std::span<const SpecTarget> targets,
                   ResolvedSpecs& result);

}  // namespace shardscope
