#include "engine/lint/rules/given_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "engine/base/name_pattern.h"
#include "engine/base/path.h"
#include "engine/base/plural.h"
#include "engine/config/place.h"

namespace shardscope {
namespace {

struct Array {
  std::string name;
  SpecKind kind = SpecKind::parameter;
  const std::vector<std::string>& logical;
};

bool is_about(const SpecRule& rule, const Array& array) {
  if (std::ranges::find(rule.of, array.kind) == rule.of.end()) return false;
  if (!rule.dimensions.empty() && rule.dimensions != array.logical) return false;
  NamePatterns patterns;
  patterns.add(rule.names, 0);
  std::vector<int> matched;
  patterns.match(array.name, matched);
  return !matched.empty();
}

bool names_any(const LogicalAxes& rule, const Array& array) {
  return std::ranges::any_of(rule.axes, [&](const auto& entry) {
    return std::ranges::find(array.logical, entry.first) != array.logical.end();
  });
}

GivenAxes to_given(const LintSubject& subject, Place place, const std::vector<std::string>& names) {
  GivenAxes given{std::move(place), {}, 1};
  for (const std::string& name : names) {
    const auto axis = std::ranges::find(subject.axes, name, &AxisUse::name);
    if (axis == subject.axes.end()) continue;
    given.axes.push_back(axis->axis);
    given.devices *= axis->size;
  }
  return given;
}

// As resolve_specs() looks for it: a rule that gives a whole spec decides where none before it spoke of the array.
std::optional<GivenAxes> find_given(const LintSubject& subject, const Array& array, size_t dim) {
  if (dim >= array.logical.size()) return std::nullopt;
  const std::vector<SpecRule>& rules = subject.config.sharding.rules;
  bool is_spoken_of = false;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!is_about(rules[i], array)) continue;
    if (std::holds_alternative<PartitionSpec>(rules[i].placement) && !is_spoken_of) return std::nullopt;
    const LogicalAxes* by_names = std::get_if<LogicalAxes>(&rules[i].placement);
    if (!by_names) continue;
    for (const auto& [name, axes] : by_names->axes) {
      if (name == array.logical[dim]) return to_given(subject, member_place(rule_place(i) + ".axes", name), axes);
    }
    is_spoken_of |= names_any(*by_names, array);
  }
  return std::nullopt;
}

}  // namespace

std::string GivenAxes::text(const LintSubject& subject) const {
  std::vector<std::string> names;
  for (const AxisIndex axis : axes) names.push_back("'" + subject.axes[axis].name + "'");
  return fmt::format("the {} of {} {}", counted(devices, "device"), names.size() > 1 ? "axes" : "axis",
                     fmt::join(names, " and "));
}

std::optional<GivenAxes> given_axes(const LintSubject& subject, const ParameterPlan& parameter, size_t dim) {
  if (find_parameter_spec(subject.config.sharding, parameter.path)) return std::nullopt;
  return find_given(subject, {join_path(parameter.path), SpecKind::parameter, logical_names(subject.plan, parameter)},
                    dim);
}

std::optional<GivenAxes> given_to_rows(const LintSubject& subject) {
  const ValueLayout* input = first_input(subject.plan);
  if (!input || !subject.config.sharding.in.dims.empty()) return std::nullopt;
  const Value& value = subject.plan.graph->values[static_cast<size_t>(input->value)];
  return find_given(subject, {input->name, SpecKind::input, value.logical}, 0);
}

const ValueLayout* first_input(const Plan& plan) {
  const auto is_input = [&](const ValueLayout& layout) {
    return plan.graph->values[static_cast<size_t>(layout.value)].kind == ValueKind::input && !layout.shape.empty();
  };
  const auto found = std::ranges::find_if(plan.layouts, is_input);
  return found == plan.layouts.end() ? nullptr : &*found;
}

const std::vector<std::string>& logical_names(const Plan& plan, const ParameterPlan& parameter) {
  const ValueId before = plan.graph->states[static_cast<size_t>(parameter.state)].before;
  return plan.graph->values[static_cast<size_t>(before)].logical;
}

}  // namespace shardscope
