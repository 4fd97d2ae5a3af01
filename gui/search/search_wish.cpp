#include "gui/search/search_wish.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

std::string value_of(const StrategyConfig& strategy, const std::string& key) {
  StrategyConfig copy = strategy;
  const int64_t* number = find_degree(copy, key);
  if (number) return std::to_string(*number);
  if (key == "zero") return std::to_string(strategy.zero);
  if (key == "virtual_stages") return std::to_string(strategy.virtual_stages);
  return key == "microbatch_size" ? std::to_string(strategy.microbatch_size) : "";
}

void refuse_impossible(const ModelLimits& limits, const SearchRequest& request) {
  if (!candidates(limits, request.devices, request.fixed).empty()) return;
  const std::string devices = counted(request.devices, "device");
  const std::vector<Candidate> all = candidates(limits, request.devices, {});
  if (all.empty())
    throw Failure(Error{"no_strategy", "no strategy splits this model and its batch over " + devices, "search.devices",
                        "another number of devices"});
  std::vector<Error> errors;
  for (const auto& one : request.fixed) {
    if (!candidates(limits, request.devices, {one}).empty()) continue;
    std::set<int64_t> possible;
    for (const Candidate& candidate : all)
      if (const std::string value = value_of(candidate.strategy, one.first); !value.empty())
        possible.insert(std::stoll(value));
    errors.push_back({"no_strategy", fmt::format("no strategy of {} has this {}", devices, one.first),
                      "search." + one.first, fmt::format("possible: {}", fmt::join(possible, ", "))});
    if (possible.empty()) errors.back().hint = "any";
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
