#pragma once

#include <string>

#include "engine/search/search.h"

namespace shardscope {

// How certain a result is, as one sentence or two: exact, nothing better but open candidates that may be on the front,
// the gap, or what a heuristic left out. Where nothing was found why, and what comes nearest.
std::string conclusion_of(const SearchResult& result, SearchObjective objective);

}  // namespace shardscope
