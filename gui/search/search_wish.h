#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/search.h"
#include "gui/search/allowed_numbers.h"

namespace shardscope {

// What a search is to find, as the page's form has it.
struct SearchWish {
  int64_t devices = 1;
  std::map<std::string, AllowedNumbers> numbers;          // by the strategy's key: "tensor"; those that are not any
  std::map<std::string, std::vector<std::string>> words;  // by the key of --fix: "recompute"; those that are not any
  std::optional<double> at_most_memory;                   // bytes of a device
  std::optional<double> at_most_seconds;                  // of a step
  SearchObjective objective = SearchObjective::time;
  std::optional<double> budget_seconds;
  bool operator==(const SearchWish&) const = default;
};

// The same search for a run file, on its machine. Throws Failure: what is wrong with the run file (its mesh and
// sharding aside), what check_layers() throws, and why no strategy of so many devices has these numbers, at places such
// as "search.tensor" or "search.devices".
SearchRequest search_request(const RunConfig& config, const SearchWish& wish);

// The run file without what a strategy decides: equal for two of which a search finds the same.
RunConfig without_strategy(const RunConfig& config);

}  // namespace shardscope
