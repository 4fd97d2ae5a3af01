#include "engine/compile/strategy_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "engine/base/plural.h"
#include "engine/config/strategy.h"

namespace shardscope {

namespace {

// Sizes of the dimensions of these names, each once.
std::set<int64_t> sizes_of(const Graph& graph, const std::string& dimension) {
  std::set<int64_t> sizes;
  for (const Value& value : graph.values) {
    for (size_t d = 0; d < value.logical.size(); ++d) {
      if (value.logical[d] == dimension) sizes.insert(value.type.shape[d]);
    }
  }
  return sizes;
}

// Of the numbers that divide all sizes, those around `wrong`: at most two below and two above.
std::vector<int64_t> near_divisors(int64_t wrong, const std::set<int64_t>& sizes) {
  std::vector<int64_t> below, above;
  const int64_t most = sizes.empty() ? 0 : *sizes.begin();
  for (int64_t number = 1; number <= most && above.size() < 2; ++number) {
    if (std::ranges::any_of(sizes, [&](int64_t size) { return size % number != 0; })) continue;
    (number < wrong ? below : above).push_back(number);
  }
  if (below.size() > 2) below.erase(below.begin(), below.end() - 2);
  below.insert(below.end(), above.begin(), above.end());
  return below;
}

std::string near_hint(int64_t wrong, const std::set<int64_t>& sizes) {
  return fmt::format("near: {}", fmt::join(near_divisors(wrong, sizes), ", "));
}

class StrategyCheck {
 public:
  StrategyCheck(const RunConfig& config, const Graph* forward)
      : strategy_(*config.strategy), config_(config), forward_(forward) {}

  std::vector<Error> run() {
    check_combinations();
    check_batch();
    if (!forward_) return std::move(errors_);
    check_axis("tensor", {"heads", "mlp"}, {"kv_heads", "vocab"});
    check_axis("context", {"length"}, {});
    check_axis("expert", {"experts"}, {});
    if (strategy_.sequence_parallel && strategy_.tensor > 1) check_sequence_parallel();
    return std::move(errors_);
  }

 private:
  void fail(const std::string& key, std::string message, std::string hint) {
    errors_.push_back({"strategy", std::move(message), "strategy." + key, std::move(hint)});
  }

  void check_combinations() {
    if (strategy_.fsdp > 1 && strategy_.zero > 0) {
      fail("zero",
           fmt::format("stage {} beside fsdp {}, which splits the same arrays already", strategy_.zero, strategy_.fsdp),
           "zero 0, or all replicas under data and fsdp 1");
    }
    if (strategy_.virtual_stages > 1 && strategy_.pipeline == 1)
      fail("virtual_stages", fmt::format("{} of each stage, of which there is one", strategy_.virtual_stages),
           "1, or a pipeline");
    if (strategy_.order.empty()) return;
    std::vector<std::string> missing;
    for (const std::string& axis : default_order()) {
      if (degree(strategy_, axis) > 1 && std::ranges::count(strategy_.order, axis) == 0) missing.push_back(axis);
    }
    if (!missing.empty())
      fail("order", fmt::format("does not say where {} is", fmt::join(missing, ", ")), "every axis above 1 once");
  }

  void check_batch() {
    const OptionValue* option = config_.data.find("batch_size");
    const auto* rows = option ? std::get_if<int64_t>(option) : nullptr;
    if (!rows || *rows < 1) return;
    const int64_t replicas = strategy_.replicas(), size = std::max<int64_t>(strategy_.microbatch_size, 1);
    if (*rows % replicas != 0) {
      const char* key = strategy_.data > 1 ? "data" : strategy_.fsdp > 1 ? "fsdp" : "expert";
      const int64_t others = replicas / degree(strategy_, key);
      std::string hint = "the parts of a batch are data x fsdp x expert";
      if (*rows % others == 0) hint = near_hint(degree(strategy_, key), {*rows / others}) + "; " + hint;
      fail(key, fmt::format("{} do not divide a batch of {}", counted(replicas, "replica"), *rows), hint);
    } else if (strategy_.microbatch_size > 0 && *rows / replicas % size != 0) {
      fail("microbatch_size",
           fmt::format("{} at a time do not divide the {} of a replica ({} of {})", size,
                       counted(*rows / replicas, "sequence"), *rows, counted(replicas, "replica")),
           near_hint(size, {*rows / replicas}));
    } else if (strategy_.microbatch_size == 0 && *rows % (replicas * config_.schedule.microbatches) != 0) {
      errors_.push_back({"strategy",
                         fmt::format("{} do not divide the {} of a replica",
                                     counted(config_.schedule.microbatches, "microbatch", "microbatches"),
                                     counted(*rows / replicas, "sequence")),
                         "schedule.microbatches", near_hint(config_.schedule.microbatches, {*rows / replicas})});
    }
  }

  // An axis splits dimensions of at least one of these names; all sizes of the first are multiples of it.
  void check_axis(const std::string& axis, const std::vector<std::string>& exactly,
                  const std::vector<std::string>& where_it_divides) {
    const int64_t parts = degree(strategy_, axis);
    if (parts == 1) return;
    std::set<int64_t> sizes;
    std::string indivisible;
    bool any = std::ranges::any_of(where_it_divides,
                                   [&](const std::string& name) { return !sizes_of(*forward_, name).empty(); });
    for (const std::string& name : exactly) {
      for (int64_t size : sizes_of(*forward_, name)) {
        sizes.insert(size);
        if (size % parts != 0 && indivisible.empty()) indivisible = fmt::format("'{}' of size {}", name, size);
      }
    }
    any |= !sizes.empty();
    if (!any) {
      std::vector<std::string> names = exactly;
      names.insert(names.end(), where_it_divides.begin(), where_it_divides.end());
      fail(axis,
           fmt::format("nothing of '{}' can be split: no dimension is named {}", config_.model.name,
                       fmt::join(names, " or ")),
           "1");
    } else if (!indivisible.empty()) {
      fail(axis, fmt::format("{} does not divide by {}", indivisible, parts), near_hint(parts, sizes));
    }
  }

  void check_sequence_parallel() {
    const std::set<int64_t> lengths = sizes_of(*forward_, "length");
    const int64_t parts = strategy_.tensor * strategy_.context;
    if (lengths.empty()) {
      fail("sequence_parallel", fmt::format("'{}' has no dimension named length", config_.model.name), "false");
    } else if (std::ranges::any_of(lengths, [&](int64_t length) { return length % parts != 0; })) {
      fail("sequence_parallel",
           fmt::format("a length of {} does not divide by {} (context x tensor)", *lengths.begin(), parts),
           "false, or a tensor of which it is a multiple");
    }
  }

  const StrategyConfig& strategy_;
  const RunConfig& config_;
  const Graph* forward_;
  std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> check_strategy(const RunConfig& config, const Graph* forward) {
  if (!config.strategy) return {};
  return StrategyCheck(config, forward).run();
}

std::vector<Error> at_strategy(std::vector<Error> errors, const RunConfig& config) {
  if (!config.strategy) return errors;
  std::set<std::string> said;  // which numbers of the strategy are wrong
  for (const Error& error : errors)
    if (error.code == "strategy") said.insert(error.place.path);
  std::erase_if(errors, [&](Error& error) {
    if (error.place.path.empty()) return false;
    const std::string place = strategy_place(config, error.place.path);
    if (place == error.place.path) return false;
    error.place.path = place;
    const bool follows = said.contains(place) || (place == "strategy" && error.code == "indivisible");
    return error.code == "matches_nothing" || (follows && !said.empty());
  });
  return errors;
}

}  // namespace shardscope
