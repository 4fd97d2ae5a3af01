#pragma once

#include <span>

#include "engine/machine/library_files.h"

namespace shardscope {

// presets/models/*/config.json, compiled into the program (cmake/machine_library.cmake), by the names of their folders.
std::span<const LibraryFile> published_model_files();

}  // namespace shardscope
