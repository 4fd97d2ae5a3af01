#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/units.h"
#include "engine/config/json_document.h"
#include "engine/config/run_document.h"
#include "engine/lint/rules/collective_moves.h"
#include "engine/lint/rules/rules.h"
#include "engine/plan/deciding_pins.h"

namespace shardscope {
namespace {

constexpr size_t most_looked_at = 4;  // reshards, of those that take longest

bool is_spec(const std::string& place) {
  return place == "sharding.in" || place == "sharding.out" || place.starts_with("sharding.parameters.") ||
         place.starts_with("sharding.constraints");
}

const std::string& pin_of(const Plan& plan, ValueId value) {
  static const std::string none;
  return static_cast<size_t>(value) < plan.pins.size() ? plan.pins[static_cast<size_t>(value)] : none;
}

// What the run file says at such a place.
PartitionSpec spec_at(const LintSubject& subject, const std::string& place) {
  const ShardingConfig& sharding = subject.config.sharding;
  if (place == "sharding.in") return sharding.in;
  if (place == "sharding.out") return sharding.out;
  for (const Constraint& constraint : sharding.constraints) {
    if (constraint_place(constraint) == place) return constraint.spec;
  }
  for (const ParameterSpec& parameter : sharding.parameters) {
    if (parameter_place(parameter) == place) return parameter.spec;
  }
  return {};
}

// The spec at that place without the axes that the move goes over.
Settings without_axes(const LintSubject& subject, const std::string& place, const CollectiveMove& move) {
  PartitionSpec spec = spec_at(subject, place);
  for (std::vector<std::string>& axes : spec.dims) {
    std::erase_if(axes, [&](const std::string& name) {
      return std::ranges::any_of(move.axes, [&](AxisIndex axis) { return subject.axes[axis].name == name; });
    });
  }
  return {place + "=" + print_json_line(to_node(spec))};
}

// A pin of the moved array becomes what is wanted; one of what the op makes becomes what it is given; any of them goes
// without the axes.
std::vector<Settings> agreeing(const LintSubject& subject, const CollectiveMove& move,
                               const std::vector<std::string>& pins) {
  const Plan& plan = subject.plan;
  std::vector<Settings> list;
  const auto set = [&](const std::string& place, const Sharding& sharding) {
    if (is_spec(place)) list.push_back({spec_setting(plan, place, sharding)});
  };
  set(pin_of(plan, move.value), move.to);
  const Op& user = plan.graph->ops[static_cast<size_t>(move.user)];
  const Shape& shape = plan.graph->type(move.value).shape;
  for (const auto* values : {&user.outputs, &user.inputs}) {
    for (const ValueId value : *values) {
      if (value != move.value && plan.graph->type(value).shape == shape) set(pin_of(plan, value), move.from);
    }
  }
  for (const std::string& pin : pins) {
    if (is_spec(pin)) list.push_back(without_axes(subject, pin, move));
  }
  return list;
}

std::vector<Fault> avoidable_reshard_faults(const LintSubject& subject) {
  const Plan& plan = subject.plan;
  std::vector<CollectiveMove> moves = collective_moves(plan);
  std::erase_if(moves,
                [](const CollectiveMove& move) { return move.phase != Phase::forward || move.from.partial != 0; });
  std::ranges::stable_sort(moves, std::greater{}, &CollectiveMove::seconds);
  std::map<std::string, Fault> faults;  // by the place of the first pin
  for (const CollectiveMove& move : moves) {
    if (faults.size() == most_looked_at) break;
    const std::vector<std::string> pins = deciding_pins(plan, *move.instruction);
    if (pins.size() < 2 || !is_spec(pins[0])) continue;
    Fault& fault = faults[pins[0]];
    fault.seconds += move.seconds;
    if (fault.message.empty()) {
      fault.place = pins[0];
      fault.message = fmt::format("{} and {} do not agree: {} is moved from {} to {} for {} ({} a step)", pins[0],
                                  pins[1], plan.graph->values[static_cast<size_t>(move.value)].name,
                                  to_string(move.from, plan.mesh), to_string(move.to, plan.mesh),
                                  plan.graph->ops[static_cast<size_t>(move.user)].name, seconds_text(move.seconds));
    }
    for (Settings& settings : agreeing(subject, move, pins)) {
      if (std::ranges::find(fault.fixes, settings) == fault.fixes.end()) fault.fixes.push_back(std::move(settings));
    }
  }
  std::vector<Fault> list;
  for (auto& [place, fault] : faults) list.push_back(std::move(fault));
  return list;
}

}  // namespace

LintRule avoidable_reshard_rule() {
  return {"avoidable_reshard", "two specs force a reshard that one change removes", false, avoidable_reshard_faults};
}

}  // namespace shardscope
