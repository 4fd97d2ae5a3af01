#include "engine/search/conclusion.h"

#include <fmt/format.h>

#include "engine/base/plural.h"

namespace shardscope {

namespace {

const char* name_of(SearchObjective objective) {
  return objective == SearchObjective::memory ? "memory" : objective == SearchObjective::time ? "time" : "device hours";
}

}  // namespace

std::string conclusion_of(const SearchResult& result, SearchObjective objective) {
  const SearchSpaceCounts& space = result.space;
  if (space.dropped > 0) {
    return fmt::format("Heuristic: {} left out by likely times and memory, without proof.",
                       counted(space.dropped, "candidate"));
  }
  if (space.open == 0) return "Exact: nothing in this space is better.";
  if (result.gap > 0) return fmt::format("What is left could be better by {:.1f} % at most.", 100 * result.gap);
  return fmt::format("Nothing is better than the best by {}. {} may still be on the front.", name_of(objective),
                     counted(space.open, "open candidate"));
}

}  // namespace shardscope
