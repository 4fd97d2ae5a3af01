#pragma once

#include <string>

namespace shardscope {

// A number as people write it, with its unit. Both throw Failure (bad_argument) at `argument` for what is none.

// At least 1: "175e9", "175B" (billions), "350M", "1.3b", "124000000".
double count_argument(const std::string& text, const char* argument);
// Bytes, with a unit, since 40 alone might mean several: "40GB" (powers of 1000), "40GiB" (of 1024), "512 MiB".
double bytes_argument(const std::string& text, const char* argument);

}  // namespace shardscope
