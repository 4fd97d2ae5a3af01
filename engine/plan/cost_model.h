#pragma once

#include "engine/program/program.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

// What a collective is expected to move, as the stack holds it (CollectiveStart::payload_bytes): of counted rows those
// that are counted where all experts are chosen equally often.
double payload_as_held(const CollectiveStart& start, const Program& program, const WorkPrices& prices);

// What an instruction is expected to take alone, in seconds, by the prices of the layout search.
double instruction_seconds(const Instruction& instruction, const Program& program, const Graph& graph,
                           const WorkPrices& prices);
InstructionTable<double> predict_seconds(const Program& program, const Graph& graph, const WorkPrices& prices);

}  // namespace shardscope
