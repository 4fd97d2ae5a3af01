#include "engine/shard/spec_table.h"

#include <algorithm>
#include <numeric>

#include "engine/base/name_pattern.h"
#include "engine/base/path.h"
#include "engine/config/place.h"

namespace shardscope {
namespace {

class TableBuilder {
 public:
  TableBuilder(const ShardingConfig& sharding, const Mesh& mesh) : sharding_(sharding), mesh_(mesh) {
    for (size_t i = 0; i < sharding.rules.size(); ++i) {
      const auto* logical = std::get_if<LogicalAxes>(&sharding.rules[i].placement);
      if (!logical) continue;
      for (const auto& [name, axes] : logical->axes)
        add_logical(name, axes, member_place(rule_place(i) + ".axes", name));
    }
  }

  std::vector<TableRule> build() {
    if (!sharding_.in.dims.empty()) add_spec("**", {SpecKind::input}, "sharding.in", "", sharding_.in);
    if (!sharding_.out.dims.empty()) add_spec("**", {SpecKind::output}, "sharding.out", "", sharding_.out);
    for (const ParameterSpec& parameter : sharding_.parameters) {
      add_spec(join_path(parameter.path), {SpecKind::parameter, SpecKind::state}, parameter_place(parameter), "",
               parameter.spec);
    }
    for (const Constraint& constraint : sharding_.constraints)
      add_spec(constraint.names, {SpecKind::activation}, constraint_place(constraint), "", constraint.spec);
    for (size_t i = 0; i < sharding_.rules.size(); ++i) add_rule(sharding_.rules[i], i);
    return std::move(table_);
  }

 private:
  void add_logical(const std::string& name, const std::vector<std::string>& axes, const std::string& place) {
    std::string quoted;
    for (const std::string& axis : axes) {
      if (!mesh_.find_axis(axis)) return;
      quoted += (quoted.empty() ? "'" : ", '") + axis + "'";
    }
    if (!quoted.empty()) logical_.push_back({name, quoted, place});
  }

  void add_spec(std::string names, std::vector<SpecKind> of, const std::string& place, const char* member,
                const PartitionSpec& spec) {
    TableRule& added = table_.emplace_back();
    added.names = std::move(names);
    added.of = std::move(of);
    added.place = place;
    added.spec = &spec;
    added.spec_place = place + member;
    added.errors = check_names(spec, mesh_, added.spec_place, logical_);
  }

  void add_rule(const SpecRule& rule, size_t index) {
    const std::string place = rule_place(index);
    if (const auto* spec = std::get_if<PartitionSpec>(&rule.placement)) {
      add_spec(rule.names, rule.of, place, ".spec", *spec);
      table_.back().rule = static_cast<int>(index);
      return;
    }
    TableRule& added = table_.emplace_back();
    added.names = rule.names;
    added.of = rule.of;
    added.dimensions = rule.dimensions;
    added.place = place;
    added.rule = static_cast<int>(index);
    if (const auto* largest = std::get_if<LargestDimension>(&rule.placement)) {
      added.by_size = true;
      added.minimum_bytes = largest->minimum_bytes;
      add_entry(added, "", largest->axes, place + ".largest");
    } else {
      for (const auto& [logical, axes] : std::get<LogicalAxes>(rule.placement).axes)
        add_entry(added, logical, axes, member_place(place + ".axes", logical));
    }
  }

  void add_entry(TableRule& rule, const std::string& logical, const std::vector<std::string>& axes,
                 const std::string& place) {
    const std::vector<Error> errors = check_axes(axes, mesh_, place, logical_);
    RuleAxes entry{entry_count_++, logical, {}, 1, "", place};
    for (const std::string& name : axes) {
      entry.text += (entry.text.empty() ? "" : ", ") + name;
      if (!errors.empty()) continue;
      entry.axes.push_back(*mesh_.find_axis(name));
      entry.count *= mesh_.axis_size(entry.axes.back());
    }
    if (entry.text.empty()) entry.text = "replicated";
    entry.text = (rule.by_size ? "largest dimension" : logical) + " -> " + entry.text;
    rule.entries.push_back(std::move(entry));
    rule.errors.insert(rule.errors.end(), errors.begin(), errors.end());
  }

  const ShardingConfig& sharding_;
  const Mesh& mesh_;
  std::vector<LogicalName> logical_;
  std::vector<TableRule> table_;
  int entry_count_ = 0;
};

}  // namespace

bool TableRule::is_of(SpecKind kind) const { return std::find(of.begin(), of.end(), kind) != of.end(); }

std::vector<TableRule> spec_table(const ShardingConfig& sharding, const Mesh& mesh) {
  return TableBuilder(sharding, mesh).build();
}

std::vector<int> asking_order(const std::vector<TableRule>& table) {
  std::vector<int> order(table.size());
  std::iota(order.begin(), order.end(), 0);
  const auto first_rule = std::find_if(order.begin(), order.end(), [&](int line) { return table[line].rule >= 0; });
  // Sections speak of different kinds of arrays, so that all their exact names may come first.
  std::stable_partition(order.begin(), first_rule, [&](int line) { return !is_pattern(table[line].names); });
  return order;
}

}  // namespace shardscope
