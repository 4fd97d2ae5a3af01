#pragma once

#include <string>

namespace shardscope {

// resources/run_file.schema.json: the schema of engine/config/run_keys.h, and in it the options of each model, data
// kind and optimizer.
std::string run_file_schema();

}  // namespace shardscope
