#pragma once

#include <QString>
#include <vector>

#include "engine/mesh/mesh.h"

namespace shardscope {

// "data, model": the names of a step's mesh axes.
QString axes_text(const Mesh& mesh, const std::vector<AxisIndex>& axes);

// The first of the causes of a bucket of arrays, one a line, and how many more there are; a single cause as it is.
QString short_cause(const QString& cause);

}  // namespace shardscope
