#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/checkpoint/export_model.h"

namespace shardscope {

// An array of an exported model: a state of a checkpoint, or the part of one that is an expert's, plus its adapter.
struct ExportedArray {
  std::string name;
  TensorType type;
  const CheckpointState* state = nullptr;
  Box part;  // of the state; as large as `type`, but for a first dimension of 1
  const CheckpointState *down = nullptr, *up = nullptr;  // adapter: (rank, in), (out, rank)
};

// In the checkpoint's order.
std::vector<ExportedArray> exported_arrays(const CheckpointIndex& index, ExpertArrays experts);

// The elements of a box of it, in its type.
void read(CheckpointReader& checkpoint, const ExportedArray& array, const ModelExport& how, const Box& box,
          std::vector<std::byte>& out);

}  // namespace shardscope
