#include "gui/document/spec_line.h"

#include <algorithm>
#include <functional>

#include "engine/base/path.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

using Section = SpecLine::Section;

// The edit that `change` makes of the specs; without a difference nothing happens.
template <class Change>
void edit_specs(Document& document, const QString& text, Change&& change) {
  RunConfig config = document.config();
  change(config.sharding);
  document.edit(std::move(config), text);
}

QString short_place(const Document& document, SpecLine line) {
  return facts_of(document.config().sharding, line).place.section('.', 1);
}

QString many(size_t lines) { return Document::tr("%1 lines").arg(lines); }

// Only a rule takes anything but a spec.
void place(ShardingConfig& sharding, SpecLine line, const RulePlacement& placement) {
  const auto* spec = std::get_if<PartitionSpec>(&placement);
  switch (line.section) {
    case Section::input: sharding.in = *spec; break;
    case Section::output: sharding.out = *spec; break;
    case Section::parameters: sharding.parameters.at(line.index).spec = *spec; break;
    case Section::constraints: sharding.constraints.at(line.index).spec = *spec; break;
    case Section::rules: sharding.rules.at(line.index).placement = placement; break;
  }
}

}  // namespace

std::vector<SpecLine> spec_lines(const ShardingConfig& sharding) {
  std::vector<SpecLine> lines;
  if (!sharding.in.dims.empty()) lines.push_back({Section::input, 0});
  if (!sharding.out.dims.empty()) lines.push_back({Section::output, 0});
  for (size_t i = 0; i < sharding.parameters.size(); ++i) lines.push_back({Section::parameters, i});
  for (size_t i = 0; i < sharding.constraints.size(); ++i) lines.push_back({Section::constraints, i});
  for (size_t i = 0; i < sharding.rules.size(); ++i) lines.push_back({Section::rules, i});
  return lines;
}

SpecLineFacts facts_of(const ShardingConfig& sharding, SpecLine line) {
  switch (line.section) {
    case Section::input: return {"sharding.in", "**", {SpecKind::input}, sharding.in};
    case Section::output: return {"sharding.out", "**", {SpecKind::output}, sharding.out};
    case Section::parameters: {
      const ParameterSpec& parameter = sharding.parameters.at(line.index);
      const std::vector<SpecKind> kinds{SpecKind::parameter, SpecKind::state};
      return {qt(parameter_place(parameter)), join_path(parameter.path), kinds, parameter.spec};
    }
    case Section::constraints: {
      const Constraint& constraint = sharding.constraints.at(line.index);
      return {qt(constraint_place(constraint)), constraint.names, {SpecKind::activation}, constraint.spec};
    }
    case Section::rules: {
      const SpecRule& rule = sharding.rules.at(line.index);
      return {qt(rule_place(line.index)), rule.names, rule.of, rule.placement};
    }
  }
  return {};
}

bool is_free(SpecLine line) { return line.section == Section::constraints || line.section == Section::rules; }

QString names_fault(const ShardingConfig& sharding, SpecLine line, const std::string& names) {
  if (names.empty()) return Document::tr("A line has a name or a pattern; ** is every array of its kinds.");
  const auto& constraints = sharding.constraints;
  for (size_t i = 0; line.section == Section::constraints && i < constraints.size(); ++i) {
    if (i != line.index && constraints[i].names == names) return Document::tr("Another constraint has this name.");
  }
  return {};
}

QString placement_fault(SpecLine line, const RulePlacement& placement) {
  const bool fits = line.section == Section::rules || std::holds_alternative<PartitionSpec>(placement);
  return fits ? QString() : Document::tr("Only a rule can place by logical names or by size; here a spec stands.");
}

bool set_placement(Document& document, const std::vector<SpecLine>& lines, const RulePlacement& placement) {
  std::vector<SpecLine> taking = lines;
  std::erase_if(taking, [&](SpecLine line) { return !placement_fault(line, placement).isEmpty(); });
  if (taking.empty()) return false;
  const QString what = taking.size() == 1 ? short_place(document, taking.front()) : many(taking.size());
  edit_specs(document, Document::tr("%1 = %2").arg(what, qt(placement_text(placement))), [&](ShardingConfig& sharding) {
    for (const SpecLine line : taking) place(sharding, line, placement);
  });
  return true;
}

bool set_names(Document& document, SpecLine line, std::string names) {
  if (!is_free(line) || !names_fault(document.config().sharding, line, names).isEmpty()) return false;
  edit_specs(document, Document::tr("%1 for %2").arg(short_place(document, line), qt(names)),
             [&](ShardingConfig& sharding) {
               (line.section == Section::constraints ? sharding.constraints.at(line.index).names
                                                     : sharding.rules.at(line.index).names) = std::move(names);
             });
  return true;
}

bool set_kinds(Document& document, SpecLine line, std::vector<SpecKind> kinds) {
  if (line.section != Section::rules || kinds.empty()) return false;
  std::ranges::sort(kinds);
  edit_specs(document, Document::tr("what %1 is of").arg(short_place(document, line)),
             [&](ShardingConfig& sharding) { sharding.rules.at(line.index).of = std::move(kinds); });
  return true;
}

void add_rule(Document& document, size_t index, const std::string& names) {
  edit_specs(document, Document::tr("add a rule"), [&](ShardingConfig& sharding) {
    const size_t at = std::min(index, sharding.rules.size());
    sharding.rules.insert(sharding.rules.begin() + static_cast<std::ptrdiff_t>(at), {names, PartitionSpec{}});
  });
}

void add_constraint(Document& document, std::string activation, int rank) {
  edit_specs(document, Document::tr("constrain %1").arg(qt(activation)), [&](ShardingConfig& sharding) {
    const auto& all = sharding.constraints;
    const auto same = [&](const Constraint& constraint) { return constraint.names == activation; };
    if (std::ranges::any_of(all, same)) return;
    PartitionSpec whole;
    whole.dims.resize(static_cast<size_t>(rank));
    sharding.constraints.push_back({std::move(activation), std::move(whole)});
  });
}

void set_constraint(Document& document, const std::string& activation, PartitionSpec spec) {
  edit_specs(document, Document::tr("constrain %1").arg(qt(activation)), [&](ShardingConfig& sharding) {
    const auto own = std::ranges::find(sharding.constraints, activation, &Constraint::names);
    if (own == sharding.constraints.end()) sharding.constraints.push_back({activation, std::move(spec)});
    else own->spec = std::move(spec);
  });
}

void remove_constraint(Document& document, const std::string& activation) {
  edit_specs(document, Document::tr("no constraint of %1").arg(qt(activation)), [&](ShardingConfig& sharding) {
    std::erase_if(sharding.constraints, [&](const Constraint& constraint) { return constraint.names == activation; });
  });
}

bool remove_lines(Document& document, std::vector<SpecLine> lines) {
  std::erase_if(lines, [](SpecLine line) { return !is_free(line); });
  if (lines.empty()) return false;
  std::ranges::sort(lines, std::greater(), &SpecLine::index);
  const QString what = lines.size() == 1 ? short_place(document, lines.front()) : many(lines.size());
  edit_specs(document, Document::tr("remove %1").arg(what), [&](ShardingConfig& sharding) {
    for (const SpecLine line : lines) {
      const auto at = static_cast<std::ptrdiff_t>(line.index);
      if (line.section == Section::rules) {
        sharding.rules.erase(sharding.rules.begin() + at);
      } else {
        sharding.constraints.erase(sharding.constraints.begin() + at);
      }
    }
  });
  return true;
}

bool move_line(Document& document, SpecLine line, int by) {
  if (!is_free(line)) return false;
  const ShardingConfig& now = document.config().sharding;
  const auto count =
      static_cast<std::ptrdiff_t>(line.section == Section::rules ? now.rules.size() : now.constraints.size());
  const std::ptrdiff_t from = static_cast<std::ptrdiff_t>(line.index), to = from + by;
  if (to < 0 || to >= count) return false;
  edit_specs(document, Document::tr("move %1").arg(short_place(document, line)), [&](ShardingConfig& sharding) {
    if (line.section == Section::rules) {
      std::iter_swap(sharding.rules.begin() + from, sharding.rules.begin() + to);
    } else {
      std::iter_swap(sharding.constraints.begin() + from, sharding.constraints.begin() + to);
    }
  });
  return true;
}

}  // namespace shardscope
