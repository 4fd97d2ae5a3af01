#pragma once

#include <string>

namespace shardscope {

// What --version prints: version, commit, compiler and options, and the libraries that are loaded or built in.
std::string version_text(const std::string& commit);

}  // namespace shardscope
