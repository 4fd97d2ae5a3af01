#pragma once

#include "tests/faults/fault.h"

namespace shardscope::faults {

// For faults that a run is to survive: it has an end, and writes its steps into a file.
void ask_for_all_steps(Start& start, int64_t steps);
// Throws Complaint unless that file holds each step once, in order, from the last restart on where there was one.
void check_all_steps(const Run& run);
// The same of another file that a run of as many steps has written.
void check_all_steps_in(const std::string& file, int64_t steps);
// Throws Complaint unless it has trained to the end, or says on standard error what is in the way.
void check_all_steps_or(const Run& run, const std::string& said);
// Throws Complaint unless each line of that file, where there is one, is a whole step, in order from 0.
void check_whole_lines(const Run& run);

}  // namespace shardscope::faults
