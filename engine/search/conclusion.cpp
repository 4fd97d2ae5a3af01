#include "engine/search/conclusion.h"

#include <fmt/format.h>

#include "engine/base/plural.h"
#include "engine/base/units.h"

namespace shardscope {

namespace {

const char* name_of(SearchObjective objective) {
  return objective == SearchObjective::memory ? "memory" : objective == SearchObjective::time ? "time" : "device hours";
}

std::string nearest_text(const Found& nearest) {
  return fmt::format("; nearest: {}, {} of a device, {} a step", text_of(nearest.candidate),
                     bytes_text(nearest.memory_bytes), seconds_text(nearest.seconds));
}

// Where nothing is within the limits.
std::string nothing_found(const SearchResult& result) {
  const SearchSpaceCounts& space = result.space;
  if (space.candidates == 0)
    return "There is no candidate: no numbers of a strategy split the model and its batch over the devices.";
  const std::string nearest = result.nearest ? nearest_text(*result.nearest) : "";
  if (space.open > 0) return fmt::format("Nothing was found in the time{}.", nearest);
  if (space.illegal == space.candidates)
    return fmt::format("All candidates were refused, the first: {}", result.first_refusal);
  std::string text = "Nothing is within the limits";
  if (result.nearest) text += nearest;
  else if (!result.first_refusal.empty()) text += "; the first that was refused: " + result.first_refusal;
  else text += ", by states and compute alone";
  return text.ends_with('.') ? text : text + '.';
}

}  // namespace

std::string conclusion_of(const SearchResult& result, SearchObjective objective) {
  if (result.fastest.empty()) return nothing_found(result);
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
