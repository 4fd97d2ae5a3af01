#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/export_model.h"

namespace shardscope {

// An array of an exported model: a state of a checkpoint, or the part of one that is an expert's, plus its adapter.
// Layers that are one on disk, and a dimension of the state, are joined: (in, layers, out) as (in, layers out).
struct ExportedArray {
  std::string name;
  TensorType type;
  const CheckpointState* state = nullptr;
  Box part;  // of the state, whose elements those of `type` are, in this order
  const CheckpointState *down = nullptr, *up = nullptr;  // adapter: (rank, in), (out, rank) or (layers, out, rank)
  std::optional<size_t> joined = std::nullopt;           // the first of two dimensions of the state that are one here
};

// In the checkpoint's order.
std::vector<ExportedArray> exported_arrays(const CheckpointIndex& index, const ModelExport& how);

// The elements of a box of it, in its type.
void read(CheckpointReader& checkpoint, const ExportedArray& array, const ModelExport& how, const Box& box,
          std::vector<std::byte>& out);

}  // namespace shardscope
