#pragma once

namespace shardscope {

// As in CMakeLists.txt; a test compares them.
inline constexpr const char* version = "0.1.0";

}  // namespace shardscope
