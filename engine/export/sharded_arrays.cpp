#include "engine/export/sharded_arrays.h"

#include <algorithm>
#include <array>

#include "engine/base/enum_count.h"
#include "engine/base/path.h"
#include "engine/plan/value_stages.h"

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 4> kind_names = {"parameter", "optimizer state", "input", "activation"};
static_assert(kind_names.size() == enum_count<ShardedArray::Kind>);

using Kind = ShardedArray::Kind;

using Stages = std::vector<std::vector<int>>;  // by graph value

void add_states(const Plan& plan, const Stages& stages, std::vector<ShardedArray>& arrays) {
  std::vector<std::string> names;
  for (const ParameterPlan& parameter : plan.parameters) {
    for (const std::string& name : parameter.state_names) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    for (const ParameterPlan& parameter : plan.parameters) {
      const auto found = std::ranges::find(parameter.state_names, name);
      if (found == parameter.state_names.end()) continue;
      const int stored = parameter.state_values[static_cast<size_t>(found - parameter.state_names.begin())];
      const ProgramValue& value = plan.program.values[static_cast<size_t>(stored)];
      arrays.push_back({plan.graph->values[static_cast<size_t>(value.graph_value)].name, Kind::state, value.shape,
                        value.dtype, value.sharding, parameter.named,
                        value.sharding == parameter.sharding ? "as its parameter" : "by its own rule",
                        stages[static_cast<size_t>(value.graph_value)]});
    }
  }
}

}  // namespace

std::string_view name(ShardedArray::Kind kind) { return kind_names[static_cast<size_t>(kind)]; }

std::vector<ShardedArray> sharded_arrays(const Plan& plan) {
  const Stages stages = stages_of_values(plan);
  std::vector<ShardedArray> arrays;
  for (const ParameterPlan& parameter : plan.parameters) {
    const ProgramValue& stored = plan.program.values[static_cast<size_t>(parameter.value)];
    arrays.push_back({join_path(parameter.path), Kind::parameter, parameter.shape, parameter.dtype, parameter.sharding,
                      parameter.named, parameter.origin.text, stages[static_cast<size_t>(stored.graph_value)]});
  }
  add_states(plan, stages, arrays);
  for (Kind kind : {Kind::input, Kind::activation}) {
    for (const ValueLayout& layout : plan.layouts) {
      const Value& value = plan.graph->values[static_cast<size_t>(layout.value)];
      if ((value.kind == ValueKind::input) != (kind == Kind::input)) continue;
      arrays.push_back({layout.name, kind, layout.shape, value.type.dtype, layout.sharding,
                        layout.origin.kind == Origin::Kind::user, layout.origin.text,
                        stages[static_cast<size_t>(layout.value)]});
    }
  }
  return arrays;
}

std::vector<ShardedArray> given_arrays(const Plan& plan) {
  std::vector<ShardedArray> arrays = sharded_arrays(plan);
  std::erase_if(arrays, [](const ShardedArray& array) { return array.kind == Kind::activation && !array.is_set; });
  return arrays;
}

}  // namespace shardscope
