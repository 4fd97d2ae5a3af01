#include "engine/cli/stored_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr std::string_view optimizer_prefix = "optimizer/";

// Without the first name of the parameter's path: "optimizer/mu/params/a/b" -> "optimizer/mu/a/b".
std::string short_name(const std::string& name) {
  size_t start = 0;
  if (name.starts_with(optimizer_prefix)) start = name.find('/', optimizer_prefix.size()) + 1;
  size_t end = name.find('/', start);
  return end == std::string::npos ? name : name.substr(0, start) + name.substr(end + 1);
}

}  // namespace

std::vector<StoredArray> stored_arrays(const Plan& plan) {
  std::vector<StoredArray> arrays, states;
  std::vector<std::string> state_order;
  for (const ParameterPlan& parameter : plan.parameters) {
    std::string name = fmt::format("{}", fmt::join(parameter.path, "/"));
    arrays.push_back({name, parameter.shape, parameter.sharding});
    for (size_t i = 0; i < parameter.state_names.size(); ++i) {
      const ProgramValue& value = plan.program.values[parameter.state_values[i]];
      states.push_back(
          {fmt::format("{}{}/{}", optimizer_prefix, parameter.state_names[i], name), value.shape, value.sharding});
      if (std::find(state_order.begin(), state_order.end(), parameter.state_names[i]) == state_order.end()) {
        state_order.push_back(parameter.state_names[i]);
      }
    }
  }
  for (const std::string& state : state_order) {
    for (const StoredArray& array : states) {
      if (array.name.starts_with(fmt::format("{}{}/", optimizer_prefix, state))) arrays.push_back(array);
    }
  }
  return arrays;
}

StoredArray find_stored_array(const Plan& plan, const std::string& name) {
  std::vector<StoredArray> arrays = stored_arrays(plan);
  std::vector<std::string> names, short_names;
  for (const StoredArray& array : arrays) {
    if (array.name == name) return array;
    names.push_back(array.name);
    short_names.push_back(short_name(array.name));
  }
  auto found = std::find(short_names.begin(), short_names.end(), name);
  if (found != short_names.end()) return arrays[found - short_names.begin()];

  std::vector<std::string> near = near_names(name, names);
  if (near.empty()) near = near_names(name, short_names);
  std::string hint = near.empty() ? "shardrun plan FILE lists all" : name_hint(name, near);
  throw Failure(
      Error{"unknown_parameter", fmt::format("there is no parameter or optimizer state '{}'", name), "", hint});
}

}  // namespace shardscope
