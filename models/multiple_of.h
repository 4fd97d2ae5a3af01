#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"

namespace shardscope {

// Adds an error (code indivisible, at model.`whole`) where option `whole` is no multiple of option `part`: the width of
// a residual stream, say, of the number of heads.
void require_multiple(const OptionList& options, const std::string& whole, const std::string& part,
                      std::vector<Error>& errors);

}  // namespace shardscope
