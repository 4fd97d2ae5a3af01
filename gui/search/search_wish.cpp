#include "gui/search/search_wish.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

#include "engine/base/plural.h"
#include "engine/config/strategy.h"

namespace shardscope {
namespace {

// Values of a key that a candidate can have, and that are allowed.
std::vector<std::string> allowed_values(const AllowedNumbers& allowed, const std::string& key,
                                        const ModelLimits& limits, int64_t devices) {
  const int64_t most = key == "zero"              ? 3
                       : key == "virtual_stages"  ? limits.layers
                       : key == "microbatch_size" ? limits.rows
                                                  : devices;
  const bool divides = key == "microbatch_size" || (key != "zero" && key != "virtual_stages");
  std::vector<std::string> values;
  for (int64_t number = 0; number <= most; ++number) {
    if (divides && (number == 0 || most % number != 0)) continue;
    if (allowed.allows(number)) values.push_back(std::to_string(number));
  }
  return values;
}

// Of a word nothing.
std::optional<int64_t> number_of(StrategyConfig strategy, const std::string& key) {
  if (const int64_t* degree = find_degree(strategy, key)) return *degree;
  if (key == "zero") return strategy.zero;
  if (key == "virtual_stages") return strategy.virtual_stages;
  return key == "microbatch_size" ? std::optional(strategy.microbatch_size) : std::nullopt;
}

void refuse_impossible(const ModelLimits& limits, const SearchRequest& request) {
  const auto impossible = impossible_numbers(limits, request.devices, request.fixed);
  if (!impossible) return;
  const std::string devices = counted(request.devices, "device");
  const std::vector<Candidate> all = candidates(limits, request.devices, {});
  if (all.empty())
    throw Failure(Error{"no_strategy", "no strategy splits this model and its batch over " + devices, "search.devices",
                        "another number of devices"});
  std::vector<Error> errors;
  for (const std::string& key : *impossible) {
    std::set<int64_t> possible;
    for (const Candidate& candidate : all)
      if (const auto number = number_of(candidate.strategy, key)) possible.insert(*number);
    errors.push_back({"no_strategy", fmt::format("no strategy of {} has this {}", devices, key), "search." + key,
                      possible.empty() ? "any" : fmt::format("possible: {}", fmt::join(possible, ", "))});
  }
  if (errors.empty())
    errors.push_back({"no_strategy", "no strategy of " + devices + " has all of these numbers", "search",
                      "allow more values, or another number of devices"});
  throw Failure(errors);
}

}  // namespace

SearchRequest search_request(const RunConfig& config, const SearchWish& wish) {
  SearchRequest request;
  request.plan = plan_request(for_devices(config, wish.devices));
  request.devices = wish.devices;
  const ModelLimits limits = model_limits(request.plan.config);
  check_layers(config, limits);
  for (const auto& [key, allowed] : wish.numbers)
    request.fixed[key] = allowed_values(allowed, key, limits, wish.devices);
  for (const auto& [key, words] : wish.words) request.fixed[key] = words;
  refuse_impossible(limits, request);
  request.at_most_memory = wish.at_most_memory;
  request.at_most_seconds = wish.at_most_seconds;
  request.objective = wish.objective;
  request.budget_seconds = wish.budget_seconds;
  request.result_when_stopped = true;
  request.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  return request;
}

RunConfig without_strategy(const RunConfig& config) {
  StrategyConfig one;
  one.microbatch_size = 1;
  one.recompute = "none";
  RunConfig same = with_strategy(config, one);
  same.sharding.mode = LayoutMode::as_written;
  return same;
}

}  // namespace shardscope
