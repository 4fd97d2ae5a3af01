#include "gui/document/spec_line.h"

#include <algorithm>

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
  return place_of(document.config().sharding, line).section('.', 1);
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

QString place_of(const ShardingConfig& sharding, SpecLine line) {
  switch (line.section) {
    case Section::input: return "sharding.in";
    case Section::output: return "sharding.out";
    case Section::parameters: return qt(parameter_place(sharding.parameters.at(line.index)));
    case Section::constraints: return qt(constraint_place(sharding.constraints.at(line.index)));
    case Section::rules: return qt(rule_place(line.index));
  }
  return {};
}

std::string names_of(const ShardingConfig& sharding, SpecLine line) {
  switch (line.section) {
    case Section::input:
    case Section::output: return "**";
    case Section::parameters: return join_path(sharding.parameters.at(line.index).path);
    case Section::constraints: return sharding.constraints.at(line.index).names;
    case Section::rules: return sharding.rules.at(line.index).names;
  }
  return {};
}

std::vector<SpecKind> kinds_of(const ShardingConfig& sharding, SpecLine line) {
  switch (line.section) {
    case Section::input: return {SpecKind::input};
    case Section::output: return {SpecKind::output};
    case Section::parameters: return {SpecKind::parameter, SpecKind::state};
    case Section::constraints: return {SpecKind::activation};
    case Section::rules: return sharding.rules.at(line.index).of;
  }
  return {};
}

RulePlacement placement_of(const ShardingConfig& sharding, SpecLine line) {
  switch (line.section) {
    case Section::input: return sharding.in;
    case Section::output: return sharding.out;
    case Section::parameters: return sharding.parameters.at(line.index).spec;
    case Section::constraints: return sharding.constraints.at(line.index).spec;
    case Section::rules: return sharding.rules.at(line.index).placement;
  }
  return {};
}

bool is_free(SpecLine line) { return line.section == Section::constraints || line.section == Section::rules; }

bool set_placement(Document& document, SpecLine line, RulePlacement placement) {
  const auto* spec = std::get_if<PartitionSpec>(&placement);
  if (!spec && line.section != Section::rules) return false;
  const QString text = Document::tr("%1 = %2").arg(short_place(document, line), qt(placement_text(placement)));
  edit_specs(document, text, [&](ShardingConfig& sharding) {
    switch (line.section) {
      case Section::input: sharding.in = *spec; break;
      case Section::output: sharding.out = *spec; break;
      case Section::parameters: sharding.parameters.at(line.index).spec = *spec; break;
      case Section::constraints: sharding.constraints.at(line.index).spec = *spec; break;
      case Section::rules: sharding.rules.at(line.index).placement = std::move(placement); break;
    }
  });
  return true;
}

bool set_names(Document& document, SpecLine line, std::string names) {
  if (!is_free(line) || names.empty()) return false;
  const auto& constraints = document.config().sharding.constraints;
  const bool constrains = line.section == Section::constraints;
  for (size_t i = 0; constrains && i < constraints.size(); ++i) {
    if (i != line.index && constraints[i].names == names) return false;
  }
  edit_specs(document, Document::tr("%1 for %2").arg(short_place(document, line), qt(names)),
             [&](ShardingConfig& sharding) {
               (constrains ? sharding.constraints.at(line.index).names : sharding.rules.at(line.index).names) =
                   std::move(names);
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

void add_rule(Document& document, size_t index) {
  edit_specs(document, Document::tr("add a rule"), [&](ShardingConfig& sharding) {
    const size_t at = std::min(index, sharding.rules.size());
    sharding.rules.insert(sharding.rules.begin() + static_cast<std::ptrdiff_t>(at), {"**", PartitionSpec{}});
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

bool remove_line(Document& document, SpecLine line) {
  if (!is_free(line)) return false;
  const auto at = static_cast<std::ptrdiff_t>(line.index);
  edit_specs(document, Document::tr("remove %1").arg(short_place(document, line)), [&](ShardingConfig& sharding) {
    if (line.section == Section::rules) {
      sharding.rules.erase(sharding.rules.begin() + at);
    } else {
      sharding.constraints.erase(sharding.constraints.begin() + at);
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
