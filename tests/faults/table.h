#pragma once

#include <string>
#include <vector>

#include "tests/faults/trial.h"

namespace shardscope::faults {

// Trials by fault and by phase, then each that went wrong: for a person.
std::string table_of(const std::vector<Trial>& trials);

}  // namespace shardscope::faults
