#include "engine/compile/changed_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/compile/file_paths.h"
#include "engine/compile/precision.h"
#include "engine/compile/settings.h"
#include "engine/config/parse.h"
#include "engine/config/path_values.h"
#include "engine/config/run_document.h"
#include "models/compute_dtype.h"

namespace shardscope {

namespace {

constexpr const char* none = "none";

JsonNode types_of(const RunConfig& config) {
  std::vector<Error> contradictions;
  const TrainingTypes types = training_types(config.precision, compute_dtype(config.model.options), contradictions);
  JsonNode precision = JsonNode::object();
  const auto add = [&](const char* key, DType type) { precision.add(key, JsonNode::of(std::string(name(type)))); };
  add("compute", types.compute);
  add("parameters", types.parameters);
  if (types.master) add("master", *types.master);
  add("gradients", types.gradients);
  add("reduction", types.reduction);
  add("moments", types.moments);
  return precision;
}

// All that is compared.
JsonNode deciding_settings(RunConfig config, bool with_paths) {
  if (!with_paths)
    config = with_data_paths(std::move(config), [](const std::string&) { return std::string("a path"); });
  config = with_default_options(std::move(config));
  const JsonNode whole = to_run_document(config);
  JsonNode settings = JsonNode::object();
  for (const char* key : {"model", "data", "optimizer"}) {
    if (const JsonNode* section = whole.find(key)) settings.add(key, *section).remove("compute_dtype");
  }
  settings.add("precision", types_of(config));
  settings.add("schedule", JsonNode::object()).add("microbatches", JsonNode::of(config.schedule.microbatches));
  settings.add("seed", JsonNode::of(config.seed));
  settings.add("deterministic", JsonNode::of(config.deterministic));
  return settings;
}

std::vector<std::string> changed_values(const JsonNode& before, const JsonNode& now, const std::string& prefix) {
  const std::vector<PathValue> old = path_values(before), current = path_values(now);
  const auto value_in = [](const std::vector<PathValue>& values, const std::string& path) {
    const auto found = std::ranges::find(values, path, &PathValue::path);
    return found == values.end() ? std::string(none) : without_fraction(found->text);
  };
  std::vector<std::string> changes;
  const auto compare = [&](const std::string& path) {
    const std::string from = value_in(old, path), to = value_in(current, path);
    if (from != to) changes.push_back(fmt::format("{}{}: {} -> {}", prefix, path, from, to));
  };
  for (const auto& [path, value] : old) compare(path);
  for (const auto& [path, value] : current) {
    if (value_in(old, path) == none) compare(path);
  }
  return changes;
}

}  // namespace

std::string without_fraction(const std::string& value) {
  return value.ends_with(".0") ? value.substr(0, value.size() - 2) : value;
}

std::vector<std::string> changed_settings(const std::string& before, const std::string& now, bool with_data_paths) {
  return changed_values(deciding_settings(parse_run_config(before, ""), with_data_paths),
                        deciding_settings(parse_run_config(now, ""), with_data_paths), "");
}

std::vector<std::string> changed_description(const std::string& before, const std::string& now) {
  return changed_values(read_json(before, ""), read_json(now, ""), "config.json ");
}

}  // namespace shardscope
