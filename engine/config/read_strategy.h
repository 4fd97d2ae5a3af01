#pragma once

#include "engine/config/fault_list.h"
#include "engine/config/run_config.h"

namespace shardscope {

// Of a config with a strategy, as its document says it: with the values that the strategy stands for. Where the
// document says one of them otherwise, a fault (contradiction) at both places.
RunConfig add_expansion(RunConfig config, const JsonNode& document, FaultList& faults);

}  // namespace shardscope
