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
  if (space.open == 0 && space.dropped == 0) return "Exact: nothing in this space is better.";
  std::string text = result.gap > 0 ? fmt::format("What is left could be better by {:.1f} % at most.", 100 * result.gap)
                                    : fmt::format("Nothing is better than the best by {}.", name_of(objective));
  if (space.dropped > 0)
    text += fmt::format(" The heuristic left out {} by likely time and memory.", counted(space.dropped, "candidate"));
  if (space.open > 0 && (result.gap == 0 || space.dropped > 0))
    text += fmt::format(" {} may still be on the front.", counted(space.open, "open candidate"));
  return text;
}

}  // namespace shardscope
