#pragma once

#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/partition_spec.h"

namespace shardscope {

// A layout without a run file, as text: --mesh data=4,model=2 --spec '[["data","model"],null]' (as in a run file) or
// --spec "P(('data', 'model'), None)" (as in JAX), --shape 1024,512, --devices 0,2,4,6,1,3,5,7. Each throws Failure
// with all errors, their places naming the option.
Mesh parse_mesh_argument(const std::string& axes, const std::string& devices);
PartitionSpec parse_spec_argument(const std::string& text);
Shape parse_shape_argument(const std::string& sizes);  // "" is a scalar

}  // namespace shardscope
