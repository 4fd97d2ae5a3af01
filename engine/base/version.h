#pragma once

namespace shardscope {

// Semantic version of programs, packages and what they write. CMakeLists.txt reads it here.
inline constexpr const char* version = "0.1.0";

}  // namespace shardscope
