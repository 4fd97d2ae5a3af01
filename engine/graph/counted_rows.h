#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace shardscope {

// Rows (q, p, c, ...) of which only the first of each (q, p) hold something: results of ops that count them
// (OpDefinition::counts_operand), and what is made of these element by element.
struct CountedRows {
  ValueId counts = no_id;  // how many hold something; no_id: all do
  double share = 1;        // of the rows that are expected to
};

// By value; empty where no op counts rows.
std::vector<CountedRows> counted_rows(const Graph& graph);

}  // namespace shardscope
