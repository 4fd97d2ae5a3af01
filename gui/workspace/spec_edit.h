#pragma once

#include <QString>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/plan/plan.h"

namespace shardscope {

// A run file in which one spec is another: of an array, of the arrays of alike layers at the same place, or of a line
// of the table of specs.
struct SpecEdit {
  QString text;                     // "blocks/*/linear1/add = P('batch', None, 'model')"
  std::vector<std::string> places;  // in the run file, of what it changes or adds
  RunConfig config;
};

// Legal specs for an array of `shape` that has the spec `own`: `first`, then none at all, then its own with one axis
// added, moved or taken away, where that divides.
std::vector<PartitionSpec> other_specs(const Plan& plan, const Shape& shape, PartitionSpec own,
                                       const std::vector<PartitionSpec>& first = {});

}  // namespace shardscope
