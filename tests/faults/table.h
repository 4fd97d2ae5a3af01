#pragma once

#include <string>
#include <vector>

#include "tests/faults/trial.h"

namespace shardscope::faults {

// Trials by fault and by phase, what summary_of() says, then each that went wrong: for a person.
std::string table_of(const std::vector<Trial>& trials);

// How many trials had a culprit to name, and how many named it, after what time; how many had none and had to finish,
// or to end with the right code or a reason, and how many did:
//
//   324 of 500 trials had a culprit to name: 323 named it, after 1.00 s (median), 10.10 s at most.
//   176 had none, and had to finish or to end with a reason: 176 did.
std::string summary_of(const std::vector<Trial>& trials);

}  // namespace shardscope::faults
