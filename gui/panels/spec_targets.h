#pragma once

#include <QMenu>
#include <functional>
#include <vector>

#include "gui/workspace/array_facts.h"

namespace shardscope {

// The arrays that an edit of specs is of, with what is known of each. Those without a spec of their own, or without
// dimensions, are none.
std::vector<ArrayFacts> spec_targets(const Workspace& workspace, const std::vector<ArrayRef>& arrays);

// Edits of all of them, each one undoable step. Arrays that have too few dimensions stay as they are where there are
// several, and the document tells so.
void give_spec(Workspace& workspace, const std::vector<ArrayFacts>& targets, const PartitionSpec& spec);
void give_dim(Workspace& workspace, const std::vector<ArrayFacts>& targets, int dim,
              const std::vector<std::string>& axes);
// A parameter's spec for the same parameter in all layers.
void give_all_layers(Workspace& workspace, const ArrayRef& array);
void swap_dims(Workspace& workspace, const std::vector<ArrayFacts>& targets, int first, int second);
// An entry for each two of `rank` dimensions, which swaps them in what `targets` then gives.
void add_swaps(QMenu& menu, int rank, Workspace& workspace, const std::function<std::vector<ArrayFacts>()>& targets);

}  // namespace shardscope
