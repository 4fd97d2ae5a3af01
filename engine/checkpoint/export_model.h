#pragma once

#include <cstdint>
#include <string>

#include "engine/checkpoint/checkpoint_reader.h"

namespace shardscope {

// Files of weights as Hugging Face's transformers reads them: the arrays "params/a/b" of a checkpoint as "a.b", in
// FOLDER/model.safetensors, or in several files of at most `most_bytes` of arrays (one array is never cut) with
// FOLDER/model.safetensors.index.json. The folder is there, and has no such files. Throws Failure damaged_checkpoint,
// unwritable_file.
void export_model(CheckpointReader& checkpoint, const std::string& folder, int64_t most_bytes = 5'000'000'000);

}  // namespace shardscope
