#pragma once

#include <string>

namespace shardscope {

// docs/run-file.md with the first table below a heading ("## Schedule"), the lines from one that begins so ("| key |")
// on, in the place of what it had. Throws Failure (no_chapter) where there is no such heading or table.
std::string with_table(std::string document, const std::string& heading, const std::string& begin,
                       const std::string& table);

}  // namespace shardscope
