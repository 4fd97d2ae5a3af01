#pragma once

#include <QString>
#include <vector>

#include "engine/config/placement_text.h"
#include "gui/document/document.h"

namespace shardscope {

// A line of the run file's table of specs (engine/shard/spec_rules.h), by its section and its number there.
struct SpecLine {
  enum class Section : uint8_t { input, output, parameters, constraints, rules };
  Section section = Section::rules;
  size_t index = 0;
  bool operator==(const SpecLine&) const = default;
};

// All of them, in the order of the table.
std::vector<SpecLine> spec_lines(const ShardingConfig& sharding);

// What stands at a line.
struct SpecLineFacts {
  QString place;  // of the run file
  std::string names;
  std::vector<SpecKind> kinds;
  RulePlacement placement;
};
SpecLineFacts facts_of(const ShardingConfig& sharding, SpecLine line);

// Constraints and rules can be renamed, moved, added and removed here; the others are tied to their arrays.
bool is_free(SpecLine line);

// Why a line cannot have these names, or this placement; empty where it can.
QString names_fault(const ShardingConfig& sharding, SpecLine line, const std::string& names);
QString placement_fault(SpecLine line, const RulePlacement& placement);

// Edits, each one undoable step. What does not fit a line (another placement than a spec for an input, say) changes
// nothing of it; false where nothing is changed.
bool set_placement(Document& document, const std::vector<SpecLine>& lines, const RulePlacement& placement);
bool set_names(Document& document, SpecLine line, std::string names);
bool set_kinds(Document& document, SpecLine line, std::vector<SpecKind> kinds);
// Replicates all parameters of these names that nothing before it decides.
void add_rule(Document& document, size_t index, const std::string& names = "**");
void add_constraint(Document& document, std::string activation, int rank);  // whole on every device, to be changed
// The layout of one activation, by its own name: added or changed; or taken away where there is one.
void set_constraint(Document& document, const std::string& activation, PartitionSpec spec);
void remove_constraint(Document& document, const std::string& activation);
bool remove_lines(Document& document, std::vector<SpecLine> lines);
bool move_line(Document& document, SpecLine line, int by);

}  // namespace shardscope
