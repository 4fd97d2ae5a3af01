#pragma once

#include <string>
#include <vector>

#include "gui/document/spec_line.h"
#include "gui/workspace/spec_edit.h"

namespace shardscope {

// Other placements of a line of the table of specs, each an edit: a spec as other_specs() has it, for the first array
// that the line speaks of; of a rule by logical names each name on another axis or on none; of a rule by size another
// axis, or whole arrays. Constraints and rules are also taken away.
// `config` is the run file of the plan.
std::vector<SpecEdit> line_edits(const Plan& plan, const RunConfig& config, SpecLine line);

// The same of `in` and `out`, which need not be given, and lower stages of `zero`.
std::vector<SpecEdit> input_edits(const Plan& plan, const RunConfig& config);
std::vector<SpecEdit> output_edits(const Plan& plan, const RunConfig& config);
std::vector<SpecEdit> zero_edits(const RunConfig& config);

// "sharding.out (not given), sharding.in": the pins that decide a reshard (engine/plan/deciding_pins.h), and which of
// them no line of the file gives; empty where there is none.
QString deciding_text(const Plan& plan, const Instruction& instruction);

// Whether a place of a pin (Plan::pins) is on that line.
bool is_on_line(const ShardingConfig& sharding, const std::string& place, SpecLine line);

}  // namespace shardscope
