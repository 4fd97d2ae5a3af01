#pragma once

#include "engine/plan/device_profile.h"
#include "engine/program/program.h"
#include "engine/shard/layout_cost.h"

namespace shardscope {

// One rank's share of the profile's machine, when `ranks` of them run on it.
CostRates cost_rates(const DeviceProfile& profile, int ranks);
// The same for a mesh, with the profile's links of its axes; `pipeline` joins stages, where there are any.
CostRates cost_rates(const DeviceProfile& profile, const Mesh& mesh, const std::string& pipeline);

// What an instruction is expected to take, by the prices of the layout search (layout_cost.h).
double instruction_seconds(const Instruction& instruction, const Program& program, const Graph& graph,
                           const CostRates& rates);
InstructionTable<double> predict_seconds(const Program& program, const Graph& graph, const CostRates& rates);
// Of the instructions of one run of the main sequence.
double main_seconds(const Program& program, const InstructionTable<double>& seconds, int stage = 0);

}  // namespace shardscope
