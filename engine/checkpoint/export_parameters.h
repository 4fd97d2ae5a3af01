#pragma once

#include <stop_token>
#include <string>

#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/safetensors.h"

namespace shardscope {

// How a checkpoint's parameters lie, whole and under their names, in one file.
SafetensorsLayout exported_layout(const CheckpointIndex& index);
// Writes them into a file that is there. Holds a few MiB at a time. Throws Failure damaged_checkpoint, unwritable_file,
// and Cancelled when `stop` is requested.
void export_parameters(CheckpointReader& checkpoint, const std::string& path, const std::stop_token& stop = {});

}  // namespace shardscope
