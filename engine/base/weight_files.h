#pragma once

#include <optional>
#include <string>

#include "engine/base/error.h"

namespace shardscope {

// The name of the file that says where a model's weights are in a folder, as Hugging Face's transformers looks for it
// (modeling_utils.py): model.safetensors, else model.safetensors.index.json; empty where neither leads to anything.
std::string weights_file(const std::string& folder);

// Of a folder without such a file, why a model may not begin from random values unasked: it holds files of weights that
// are not read (pytorch_model*.bin, shards without their index, ...), or a link that leads nowhere. Nothing where it
// holds none. Place: model.path.
std::optional<Error> unusable_weights(const std::string& folder);

}  // namespace shardscope
