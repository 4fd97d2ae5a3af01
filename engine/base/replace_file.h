#pragma once

#include <string>
#include <string_view>

namespace shardscope {

// The file has this text when it returns, and what it had before until then, whenever the process ends: the text is
// written beside it and then takes its name. Throws Failure as WholeFile does.
void replace_file(const std::string& path, std::string_view text);

}  // namespace shardscope
