#pragma once

#include <vector>

#include "engine/compile/compile.h"
#include "gui/document/edits.h"

namespace shardscope {

// Edits of the specs of several arrays, each one undoable step.

struct SpecChange {
  ArrayRef array;  // that has a spec (see array_ref.h)
  PartitionSpec spec;
};

// `text`: what the menus call it.
void set_specs(Document& document, const std::vector<SpecChange>& changes, const QString& text);

// The spec with the entries of two dimensions exchanged, of an array of `rank` dimensions.
PartitionSpec swapped(PartitionSpec spec, int rank, int first, int second);

using ParameterPath = std::vector<std::string>;

// The same parameter in the other layers of the network, without `path` itself: parameters of the same shape whose
// paths differ from it in one numbered part alone, the first that has any.
//
//   Block_0/Dense_1/kernel -> Block_1/Dense_1/kernel, Block_2/Dense_1/kernel, ...
std::vector<ParameterPath> in_other_layers(const std::vector<ParameterInfo>& parameters, const ParameterPath& path);

// Gives the parameter a spec in all layers. It is one line of the file, "Block_*/Dense_1/kernel", where that means
// these parameters and no others and no line before it decides; else a line for each.
void set_in_all_layers(Document& document, const std::vector<ParameterInfo>& parameters, const ParameterPath& path,
                       const PartitionSpec& spec);

}  // namespace shardscope
