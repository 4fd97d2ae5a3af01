#pragma once

#include "engine/program/program.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

// What an instruction is expected to take alone, in seconds, by the prices of the layout search.
double instruction_seconds(const Instruction& instruction, const Program& program, const Graph& graph,
                           const WorkPrices& prices);
InstructionTable<double> predict_seconds(const Program& program, const Graph& graph, const WorkPrices& prices);

}  // namespace shardscope
