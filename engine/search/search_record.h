#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/search/search.h"

namespace shardscope {

// What a search has learned of its candidates, by index among candidates(): plans, and bounds by the level of what is
// known (search.cpp). A search of the same request that has it takes the same steps without planning these again; so
// one that ended early and is continued gives what an uninterrupted one gives.
struct SearchRecord {
  std::map<int, std::optional<Found>> plans;    // nothing: the strategy cannot be
  std::map<std::pair<int, int>, Bound> bounds;  // by index and level
};

// The record as JSON. It says which request it is of: model, batch, machine, devices, limits and what is fixed; and by
// which program, as it calls itself.
std::string record_text(const SearchRecord& record, const SearchRequest& request, const std::string& program);

// Throws Failure (bad_search_record) where the text is none, or of another request or program; `path` is for people.
SearchRecord read_record(const std::string& text, const SearchRequest& request, const std::string& program,
                         const std::string& path);

}  // namespace shardscope
