#include "gui/workspace/line_edits.h"

#include <algorithm>

#include "engine/compile/document_of.h"
#include "engine/compile/training_graph.h"
#include "engine/plan/deciding_pins.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

using Section = SpecLine::Section;

// Of the first array that the line speaks of; none where it speaks of none.
std::optional<Shape> shape_on(const Plan& plan, const ShardingConfig& sharding, SpecLine line) {
  const std::vector<SpecLine> lines = spec_lines(sharding);
  const auto at = static_cast<size_t>(std::ranges::find(lines, line) - lines.begin());
  if (at >= plan.spec_lines.size() || plan.spec_lines[at].matched == 0) return std::nullopt;
  const std::string& sample = plan.spec_lines[at].sample;
  const std::string name = sample.substr(0, sample.find('\n'));
  const SpecTargets arrays = spec_targets(*plan.graph);
  const std::vector<SpecKind> kinds = facts_of(sharding, line).kinds;
  const auto is_it = [&](const SpecTarget& target) {
    return target.name == name && std::ranges::count(kinds, target.kind) > 0;
  };
  const auto found = std::ranges::find_if(arrays.targets, is_it);
  return found == arrays.targets.end() ? std::nullopt : std::optional(found->type.shape);
}

// That splits arrays, alone; or none.
std::vector<std::vector<std::string>> single_axes(const Plan& plan) {
  std::vector<std::vector<std::string>> lists{{}};
  for (AxisIndex axis = 0; axis < plan.mesh.axis_count(); ++axis) {
    if (plan.mesh.axis_size(axis) > 1 && plan.pipeline.axis != axis) lists.push_back({plan.mesh.axes()[axis].name});
  }
  return lists;
}

std::vector<RulePlacement> other_placements(const Plan& plan, const ShardingConfig& sharding, SpecLine line,
                                            const RulePlacement& now) {
  std::vector<RulePlacement> placements;
  if (const auto* spec = std::get_if<PartitionSpec>(&now)) {
    const std::optional<Shape> shape = shape_on(plan, sharding, line);
    if (!shape) return placements;
    for (PartitionSpec& other : other_specs(plan, *shape, *spec)) placements.emplace_back(std::move(other));
    return placements;
  }
  const auto add = [&](RulePlacement placement) {
    if (placement != now) placements.push_back(std::move(placement));
  };
  for (const std::vector<std::string>& axes : single_axes(plan)) {
    if (const auto* largest = std::get_if<LargestDimension>(&now)) {
      if (axes.empty()) add(PartitionSpec{});
      else add(LargestDimension{axes, largest->minimum_bytes});
      continue;
    }
    const auto& logical = std::get<LogicalAxes>(now);
    for (size_t entry = 0; entry < logical.axes.size(); ++entry) {
      LogicalAxes other = logical;
      other.axes[entry].second = axes;
      add(std::move(other));
    }
  }
  return placements;
}

void put(ShardingConfig& sharding, SpecLine line, const RulePlacement& placement) {
  const auto* spec = std::get_if<PartitionSpec>(&placement);
  switch (line.section) {
    case Section::input: sharding.in = *spec; break;
    case Section::output: sharding.out = *spec; break;
    case Section::parameters: sharding.parameters[line.index].spec = *spec; break;
    case Section::constraints: sharding.constraints[line.index].spec = *spec; break;
    case Section::rules: sharding.rules[line.index].placement = placement; break;
  }
}

QString short_place(const std::string& place) { return qt(place).section('.', 1); }

std::vector<SpecEdit> specs_of_all(const Plan& plan, const RunConfig& config, bool is_input) {
  const SpecTargets arrays = spec_targets(*plan.graph);
  const SpecKind kind = is_input ? SpecKind::input : SpecKind::output;
  const auto found = std::ranges::find(arrays.targets, kind, &SpecTarget::kind);
  std::vector<SpecEdit> edits;
  if (found == arrays.targets.end()) return edits;
  const auto spec_in = [is_input](auto& file) -> auto& { return is_input ? file.sharding.in : file.sharding.out; };
  const char* name = is_input ? "in" : "out";
  for (const PartitionSpec& spec : other_specs(plan, found->type.shape, spec_in(config))) {
    SpecEdit& edit = edits.emplace_back(QString("%1 = %2").arg(name, spec_text(spec)),
                                        std::vector{std::string("sharding.") + name}, config);
    spec_in(edit.config) = spec;
  }
  return edits;
}

}  // namespace

std::vector<SpecEdit> line_edits(const Plan& plan, const RunConfig& config, SpecLine line) {
  if (line.section == Section::input) return input_edits(plan, config);
  if (line.section == Section::output) return output_edits(plan, config);
  const SpecLineFacts facts = facts_of(config.sharding, line);
  const std::vector<std::string> places{facts.place.toStdString()};
  std::vector<SpecEdit> edits;
  for (const RulePlacement& placement : other_placements(plan, config.sharding, line, facts.placement)) {
    SpecEdit& edit = edits.emplace_back(QString("%1 = %2").arg(short_place(places[0]), qt(placement_text(placement))),
                                        places, config);
    put(edit.config.sharding, line, placement);
  }
  if (!is_free(line)) return edits;
  SpecEdit& without = edits.emplace_back(QObject::tr("without %1").arg(short_place(places[0])), places, config);
  ShardingConfig& sharding = without.config.sharding;
  const auto at = static_cast<std::ptrdiff_t>(line.index);
  if (line.section == Section::rules) sharding.rules.erase(sharding.rules.begin() + at);
  else sharding.constraints.erase(sharding.constraints.begin() + at);
  return edits;
}

std::vector<SpecEdit> input_edits(const Plan& plan, const RunConfig& config) {
  return specs_of_all(plan, config, true);
}

std::vector<SpecEdit> output_edits(const Plan& plan, const RunConfig& config) {
  return specs_of_all(plan, config, false);
}

std::vector<SpecEdit> zero_edits(const RunConfig& config) {
  std::vector<SpecEdit> edits;
  for (int64_t stage = 0; stage < config.sharding.zero.stage; ++stage) {
    SpecEdit& edit =
        edits.emplace_back(QObject::tr("zero.stage = %1").arg(stage), std::vector<std::string>{zero_place}, config);
    edit.config.sharding.zero.stage = stage;
  }
  return edits;
}

QString deciding_text(const Plan& plan, const Instruction& instruction) {
  QStringList pins;
  const ShardingConfig sharding = document_of(plan).sharding;
  const std::vector<SpecLine> lines = spec_lines(sharding);
  for (const std::string& place : deciding_pins(plan, instruction)) {
    const bool is_given = place == zero_place ||
                          std::ranges::any_of(lines, [&](SpecLine line) { return is_on_line(sharding, place, line); });
    pins << (is_given ? qt(place) : QObject::tr("%1 (not given)").arg(qt(place)));
  }
  return pins.join(", ");
}

bool is_on_line(const ShardingConfig& sharding, const std::string& place, SpecLine line) {
  const std::string of_line = facts_of(sharding, line).place.toStdString();
  return place == of_line || (line.section == Section::rules && place.starts_with(of_line + "."));
}

}  // namespace shardscope
