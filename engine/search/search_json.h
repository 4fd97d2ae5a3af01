#pragma once

#include <string>

#include "engine/search/search.h"

namespace shardscope {

// The result for scripts, as docs/commands.md says it: space, devices, front, fastest, gap, stopped.
std::string search_json(const SearchResult& result, const SearchRequest& request);

}  // namespace shardscope
