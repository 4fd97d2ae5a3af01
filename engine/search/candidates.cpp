#include "engine/search/candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "engine/base/number_text.h"
#include "engine/base/plural.h"
#include "engine/compile/training_graph.h"
#include "engine/config/run_keys.h"
#include "engine/config/strategy.h"
#include "engine/search/schedule_orders.h"

namespace shardscope {

namespace {

constexpr const char* mode_key = "mode";
constexpr const char* megatron_order = "megatron";
constexpr const char* outermost_order = "replicas_outermost";

std::vector<std::string> fixable() {
  std::vector<std::string> names = keys_of(strategy_type().schema);
  names.emplace_back(mode_key);
  return names;
}

std::vector<int64_t> sizes_of(const Graph& graph, std::initializer_list<const char*> dimensions) {
  std::set<int64_t> sizes;
  for (const Value& value : graph.values) {
    for (size_t d = 0; d < value.logical.size(); ++d) {
      if (std::ranges::find(dimensions, value.logical[d]) != dimensions.end()) sizes.insert(value.type.shape[d]);
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) result.push_back(d);
  }
  return result;
}

// Of a value of `order`: a name, or axes with blanks between them.
std::vector<std::string> axes_of_order(const std::string& value) {
  if (value == megatron_order) return {};
  if (value == outermost_order) return {"data", "fsdp", "pipeline", "expert", "context", "tensor"};
  std::istringstream words(value);
  return {std::istream_iterator<std::string>(words), {}};
}

class Enumeration {
 public:
  Enumeration(const ModelLimits& limits, int64_t devices, const FixedNumbers& fixed)
      : limits_(limits), devices_(devices), fixed_(fixed) {}

  std::vector<Candidate> run() {
    choose_axes(0, devices_);
    return std::move(found_);
  }

 private:
  struct Axis {
    const char* name;
    const std::vector<int64_t>* sizes;  // that a degree divides; null: any
  };

  void choose_axes(size_t axis, int64_t left) {
    const Axis axes[] = {{"pipeline", nullptr},
                         {"tensor", &limits_.tensor},
                         {"context", &limits_.context},
                         {"expert", &limits_.expert},
                         {"fsdp", nullptr}};
    if (axis == std::size(axes)) {
      strategy_.data = left;
      if (allows("data", left) && limits_.rows % strategy_.replicas() == 0) choose_splits();
      return;
    }
    const Axis& at = axes[axis];
    for (int64_t degree : divisors(left)) {
      const bool is_possible = axis == 0 ? degree <= limits_.layers : !at.sizes || divides_all(degree, *at.sizes);
      if (!is_possible || !allows(at.name, degree)) continue;
      *find_degree(strategy_, at.name) = degree;
      choose_axes(axis + 1, left / degree);
    }
    *find_degree(strategy_, at.name) = 1;
  }

  bool allows(const std::string& key, const std::string& value) const {
    const auto at = fixed_.find(key);
    return at == fixed_.end() || std::ranges::find(at->second, value) != at->second.end();
  }
  bool allows(const std::string& key, int64_t value) const { return allows(key, std::to_string(value)); }

  // The values of a number: those listed, or what is fixed.
  std::vector<std::string> values(const std::string& key, std::vector<std::string> listed) const {
    const auto at = fixed_.find(key);
    return at == fixed_.end() ? listed : at->second;
  }
  std::vector<int64_t> numbers(const std::string& key, std::vector<int64_t> listed) const {
    std::erase_if(listed, [&](int64_t value) { return !allows(key, value); });
    return listed;
  }

  void choose_splits() {
    const bool may_split = strategy_.tensor > 1 && limits_.has_sequence &&
                           divides_all(strategy_.context * strategy_.tensor, limits_.context);
    for (const bool sequence : {false, true}) {
      const bool has_effect = strategy_.tensor > 1;
      if ((sequence && !may_split) || (has_effect && !allows("sequence_parallel", sequence ? "true" : "false")))
        continue;
      strategy_.sequence_parallel = sequence;
      for (int64_t stage : numbers("zero", zero_stages())) {
        strategy_.zero = stage;
        choose_stages();
      }
    }
    strategy_.sequence_parallel = false;
    strategy_.zero = 0;
  }

  std::vector<int64_t> zero_stages() const {
    const bool trains = limits_.recompute.size() > 1;
    if (!trains || !has_zero_stages(strategy_)) return {0};
    const bool is_of_ring = strategy_.context > 1 && strategy_.expert == 1 && strategy_.pipeline == 1;
    if (is_of_ring || fixed_.contains("zero")) return {0, 1, 2, 3};
    return {0, 1, 2};
  }

  void choose_stages() {
    std::vector<int64_t> chunks = {1};
    for (int64_t count = 2; strategy_.pipeline > 1 && count * strategy_.pipeline <= limits_.layers; ++count) {
      if (limits_.layers % (count * strategy_.pipeline) == 0) chunks.push_back(count);
    }
    for (int64_t count : numbers("virtual_stages", chunks)) {
      strategy_.virtual_stages = count;
      const bool has_effect = strategy_.pipeline > 1;
      std::vector<std::string> schedules = {"1f1b"};
      if (has_effect && count == 1) schedules = strategy_schedules();
      for (const std::string& schedule : schedules) {
        if (has_effect && !allows("pipeline_schedule", schedule)) continue;
        strategy_.pipeline_schedule = schedule;
        choose_order();
      }
    }
    strategy_.virtual_stages = 1;
    strategy_.pipeline_schedule = "1f1b";
  }

  void choose_order() {
    const bool has_effect = strategy_.pipeline > 1 && strategy_.data * strategy_.fsdp > 1;
    std::vector<std::vector<std::string>> orders;
    for (const std::string& value : values("order", {megatron_order, outermost_order})) {
      std::vector<std::string> order = axes_of_order(value);
      if (value == outermost_order && !has_effect) order.clear();
      std::erase_if(order, [&](const std::string& axis) { return degree(strategy_, axis) == 1; });
      if (std::ranges::count(orders, order) == 0) orders.push_back(std::move(order));
    }
    for (std::vector<std::string>& order : orders) {
      strategy_.order = std::move(order);
      choose_microbatches();
    }
    strategy_.order.clear();
  }

  void choose_microbatches() {
    for (int64_t size : numbers("microbatch_size", divisors(limits_.rows / strategy_.replicas()))) {
      if (!is_possible_pipeline(limits_.rows / strategy_.replicas() / size)) continue;
      for (const std::string& policy : values("recompute", limits_.recompute)) {
        for (const std::string& mode : values(mode_key, {"as_written"})) {
          Candidate candidate{strategy_, mode == "fastest" ? LayoutMode::fastest : LayoutMode::as_written};
          candidate.strategy.microbatch_size = size;
          candidate.strategy.recompute = policy;
          found_.push_back(std::move(candidate));
        }
      }
    }
  }

  bool is_possible_pipeline(int64_t microbatches) const {
    if (strategy_.pipeline == 1) return true;
    const PipelineSchedule* schedule = find_schedule(pipeline_schedule(strategy_));
    return !schedule || schedule->check(shape_of(strategy_, microbatches)).empty();
  }

  const ModelLimits& limits_;
  int64_t devices_;
  const FixedNumbers& fixed_;
  StrategyConfig strategy_;
  std::vector<Candidate> found_;
};

}  // namespace

bool divides_all(int64_t degree, const std::vector<int64_t>& sizes) {
  if (sizes.empty()) return degree == 1;
  return std::ranges::all_of(sizes, [&](int64_t size) { return size % degree == 0; });
}

bool has_zero_stages(const StrategyConfig& s) { return s.data * s.expert * s.context > 1 && s.fsdp == 1; }

const std::vector<std::string>& strategy_schedules() {
  static const std::vector<std::string> schedules = [] {
    StrategyConfig plain, virtual_stages;
    virtual_stages.virtual_stages = 2;
    std::vector<std::string> names{pipeline_schedule(plain)};
    for (const PipelineSchedule& schedule : all_schedules()) {
      if (schedule.name != names.front() && schedule.name != pipeline_schedule(virtual_stages))
        names.push_back(schedule.name);
    }
    return names;
  }();
  return schedules;
}

ModelLimits model_limits(const RunConfig& config) {
  RunConfig alone = with_strategy(config, {});
  const ForwardGraph forward = build_forward(alone);
  if (!forward.graph || !forward.run.errors.empty()) throw Failure(forward.run.errors);
  const Graph& graph = *forward.graph;
  ModelLimits limits;
  limits.tensor = sizes_of(graph, {"heads", "mlp"});
  limits.context = sizes_of(graph, {"length"});
  limits.expert = sizes_of(graph, {"experts"});
  limits.has_sequence = std::ranges::any_of(graph.values, [](const Value& value) {
    return value.logical == std::vector<std::string>{"batch", "length", "embed"};
  });
  for (const Op& op : graph.ops) limits.layers = std::max<int64_t>(limits.layers, op.place.layer + 1);
  limits.rows = forward.run.microbatch_rows;
  limits.recompute = {"none"};
  if (!config.trains()) return limits;
  const bool attends =
      std::ranges::any_of(graph.ops, [](const Op& op) { return op.place.part == LayerPart::attention; });
  if (attends) limits.recompute.push_back("selective");
  limits.recompute.push_back("full");
  return limits;
}

void check_layers(const RunConfig& config, const ModelLimits& limits) {
  if (limits.layers > 0) return;
  const bool has_dimensions = !limits.tensor.empty() || !limits.context.empty() || !limits.expert.empty();
  throw Failure(Error{has_dimensions ? "no_layers" : "no_dimensions",
                      fmt::format("the model '{}' has no {}", config.model.name,
                                  has_dimensions ? "layers, of which a search makes its bounds"
                                                 : "layers, and no dimensions called heads, mlp, length or experts, "
                                                   "by which strategies split"),
                      "model.name",
                      "a model that has them; or Compare, Meshes in the window, which plans all meshes of this one"});
}

void fix(FixedNumbers& fixed, const std::string& text) {
  const size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const auto fail = [&](const std::string& message, const std::string& hint) {
    throw Failure(Error{"bad_argument", message, at_argument("--fix " + text), hint});
  };
  if (equals == std::string::npos || equals + 1 == text.size()) fail("no value is given", "such as tensor=8");
  const std::vector<std::string> known = fixable();
  if (std::ranges::find(known, key) == known.end()) fail("a strategy has no '" + key + "'", name_hint(key, known));
  std::vector<std::string> values;
  for (size_t begin = equals + 1; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool is_word = key == "recompute" || key == "pipeline_schedule" || key == "order";
  for (std::string& value : values) {
    const bool is_pattern = value.find_first_of("*?/{[") != std::string::npos;
    if (key == "recompute" && !is_pattern && std::ranges::count(recompute_policies(), value) == 0)
      fail("there is no recompute policy '" + value + "'", name_hint(value, recompute_policies()));
    if (key == "sequence_parallel" && value != "true" && value != "false") fail(value, "true or false");
    if (key == "pipeline_schedule" && std::ranges::count(strategy_schedules(), value) == 0)
      fail("there is no schedule '" + value + "'", name_hint(value, strategy_schedules()));
    if (key == "order") {
      for (const std::string& axis : axes_of_order(value)) {
        if (std::ranges::count(default_order(), axis) > 0) continue;
        std::vector<std::string> orders = default_order();
        orders.insert(orders.end(), {megatron_order, outermost_order});
        fail("an order has no '" + axis + "'", name_hint(axis, orders));
      }
    }
    if (key == mode_key && value != "as_written" && value != "fastest") fail(value, "as_written or fastest");
    if (is_word || key == "sequence_parallel" || key == mode_key) continue;
    const std::optional<int64_t> number = number_of<int64_t>(value);
    if (key == "zero" && !(number >= 0 && number <= 3)) fail("there is no stage '" + value + "' of ZeRO", "0 to 3");
    if (key != "zero" && !(number >= 1)) fail("'" + value + "' is no such number", "1, 2, ...");
    value = std::to_string(*number);
  }
  std::vector<std::string>& all = fixed[key];
  for (std::string& value : values) {
    if (std::ranges::count(all, value) == 0) all.push_back(std::move(value));
  }
}

namespace {

// Why no candidate has the value; empty where that is not by itself.
std::string why_not(const ModelLimits& limits, int64_t devices, const std::string& key, const std::string& value) {
  const int64_t number = number_of<int64_t>(value).value_or(1);
  const auto undivided = [&](const std::vector<int64_t>& sizes, const char* what) {
    if (sizes.empty() && number > 1) return fmt::format("the model has no {}", what);
    const auto at = std::ranges::find_if(sizes, [&](int64_t size) { return size % number != 0; });
    return at == sizes.end() ? std::string() : fmt::format("{} does not divide {}: {}", value, what, *at);
  };
  StrategyConfig none;
  if (find_degree(none, key) && devices % number != 0)
    return fmt::format("{} does not divide the {}", value, counted(devices, "device"));
  if (key == "pipeline" && number > limits.layers)
    return fmt::format("the model has {}", counted(limits.layers, "layer"));
  if (key == "tensor") return undivided(limits.tensor, "heads and widths of feed-forward layers");
  if (key == "context") return undivided(limits.context, "length");
  if (key == "expert") return undivided(limits.expert, "experts");
  if (key == "data" || key == "fsdp" || key == "microbatch_size") return undivided({limits.rows}, "batch");
  return {};
}

std::string fix_text(const FixedNumbers::value_type& fixed) {
  return fmt::format("--fix {}={}", fixed.first, fmt::join(fixed.second, ","));
}

}  // namespace

std::optional<std::vector<std::string>> impossible_numbers(const ModelLimits& limits, int64_t devices,
                                                           const FixedNumbers& fixed) {
  if (!candidates(limits, devices, fixed).empty()) return {};
  std::vector<std::string> keys;
  for (const auto& one : fixed) {
    if (candidates(limits, devices, {one}).empty()) keys.push_back(one.first);
  }
  return keys;
}

void refuse_fixed(const ModelLimits& limits, int64_t devices, const FixedNumbers& fixed) {
  const std::optional<std::vector<std::string>> impossible = impossible_numbers(limits, devices, fixed);
  if (!impossible || candidates(limits, devices, {}).empty()) return;
  std::vector<Error> errors;
  for (const std::string& key : *impossible) {
    const auto one = fixed.find(key);
    const std::string why = why_not(limits, devices, key, one->second.front());
    errors.push_back({"bad_argument", why.empty() ? "no strategy of these devices has it" : why,
                      at_argument(fix_text(*one)), "another value, or other --devices"});
  }
  if (errors.empty()) {
    std::vector<std::string> all;
    for (const auto& one : fixed) all.push_back(fix_text(one));
    errors.push_back({"bad_argument", fmt::format("no strategy of {} has all of these", counted(devices, "device")),
                      at_argument(fmt::format("{}", fmt::join(all, " "))), "leave one of them out"});
  }
  throw Failure(errors);
}

std::vector<Candidate> candidates(const ModelLimits& limits, int64_t devices, const FixedNumbers& fixed) {
  return Enumeration(limits, devices, fixed).run();
}

RunConfig run_of(const RunConfig& config, const Candidate& candidate) {
  RunConfig run = with_strategy(config, candidate.strategy);
  run.sharding.mode = candidate.mode;
  return run;
}

std::string text_of(const Candidate& candidate) {
  const StrategyConfig& s = candidate.strategy;
  std::string axes;
  for (const std::string& axis : s.order.empty() ? default_order() : s.order) {
    if (degree(s, axis) > 1) axes += fmt::format("{}{} {}", axes.empty() ? "" : " x ", axis, degree(s, axis));
  }
  std::string text = axes.empty() ? "one device" : axes;
  if (s.virtual_stages > 1) text += fmt::format(", {} virtual stages", s.virtual_stages);
  if (s.pipeline_schedule != "1f1b") text += ", " + s.pipeline_schedule;
  if (s.sequence_parallel) text += ", sequence parallel";
  if (s.zero > 0) text += fmt::format(", zero {}", s.zero);
  text += fmt::format(", microbatch {}", s.microbatch_size);
  if (s.recompute != "none") text += ", recompute " + s.recompute;
  if (candidate.mode == LayoutMode::fastest) text += ", fastest";
  return text;
}

}  // namespace shardscope
