#pragma once

#include <vector>

#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// Parameters that are stored split along a dimension over an axis which no forward or backward op keeps there: an
// all-gather or all-to-all comes before each use. Axes that split the rows of the inputs too, and at least half of the
// bytes of all parameters, are left out, but of embeddings: that is FSDP, which saves memory by gathering.
struct GatheredParameter {
  std::string place;               // in the run file, of what decides their spec
  std::vector<size_t> parameters;  // of Plan::parameters, alike
  AxisIndex axis = 0;
  int dim = 0;                // that it splits
  Sharding wanted;            // by the first op that uses it
  double seconds = 0;         // of the gathers, in a step
  bool is_looked_up = false;  // by op embedding
};
std::vector<GatheredParameter> gathered_parameters(const LintSubject& subject);

// The fault of one: they may be stored as they are wanted, split along another dimension, or not over the axis.
Fault fault_of(const LintSubject& subject, const GatheredParameter& gathered);

}  // namespace shardscope
