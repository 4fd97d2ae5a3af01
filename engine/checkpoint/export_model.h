#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/expert_arrays.h"
#include "engine/checkpoint/checkpoint_reader.h"

namespace shardscope {

struct ModelExport {
  ExpertArrays experts = ExpertArrays::joined;
  double adapter_scale = 0;  // of adapters, which are added to the weights that they belong to
  bool in_out = false;       // weights with adapters are (in, out), else (out, in)
  int64_t most_bytes = 5'000'000'000;
};

// Compares the arrays that export_model() writes of a checkpoint with those of a model that has these states. Throws
// Failure (other_model, at `place`): each array that one of them lacks, or that is of another shape.
void require_same_arrays(const CheckpointIndex& checkpoint, const std::vector<std::pair<std::string, Shape>>& states,
                         const ModelExport& how, const Place& place);

// Files of weights as Hugging Face's transformers reads them: the arrays "params/a/b" of a checkpoint as "a.b", in
// FOLDER/model.safetensors, or in several files of at most `most_bytes` of arrays (one array is never cut) with
// FOLDER/model.safetensors.index.json. The folder is there, and has no such files. Throws Failure damaged_checkpoint,
// unwritable_file, and Cancelled when `stop` is requested.
void export_model(CheckpointReader& checkpoint, const std::string& folder, const ModelExport& how = {},
                  const std::stop_token& stop = {});

}  // namespace shardscope
