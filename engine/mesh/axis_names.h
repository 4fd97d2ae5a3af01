#pragma once

#include <string>
#include <vector>

#include "engine/mesh/mesh.h"

namespace shardscope {

// A logical name of dimensions that a run file's rule places on axes of the mesh.
struct LogicalName {
  std::string name;  // "hidden"
  std::string axes;  // "'model'"
  std::string rule;  // its place, "sharding.rules[0].axes.hidden"
};

// What would be right for a name that no axis of the mesh has: which axes there are, and, as far as it is known,
// which of them is meant: one that is written alike; one that splits the same thing under another of its customary
// names (the batch is split over "data" in one program, over "batch" in another; a layer over "model", "tensor", "tp",
// ...); or the axes on which a rule places the name, where it is one of dimensions.
//
// Example: 'data' on the mesh (batch 4, model 2): "the mesh has 'batch' and 'model'; 'data' is another name for what is
// split over 'batch' here".
std::string unknown_axis_hint(const std::string& name, const Mesh& mesh, const std::vector<LogicalName>& logical);

}  // namespace shardscope
