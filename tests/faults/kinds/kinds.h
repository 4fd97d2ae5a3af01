#pragma once

#include "tests/faults/fault.h"

namespace shardscope::faults {

// Each in the file of its name.
std::vector<Fault> signals_to_a_rank();
std::vector<Fault> stops_of_a_rank();
std::vector<Fault> frozen_ranks();
std::vector<Fault> debugged_ranks();
std::vector<Fault> stuck_ranks();
std::vector<Fault> signals_to_mpirun();
std::vector<Fault> stopped_mpirun();
std::vector<Fault> fake_mpirun();
std::vector<Fault> signals_to_the_launcher();
std::vector<Fault> lost_hosts();
std::vector<Fault> restarts();
std::vector<Fault> pauses();
std::vector<Fault> closed_terminals();
std::vector<Fault> limits();
std::vector<Fault> temporary_folders();
std::vector<Fault> shared_memories();
std::vector<Fault> exhausted_memory();
std::vector<Fault> exhausted_descriptors();
std::vector<Fault> unread_output();
std::vector<Fault> unwritable_output();
std::vector<Fault> unwritable_steps();
std::vector<Fault> clients();
std::vector<Fault> unauthenticated_peers();
std::vector<Fault> second_writers();
std::vector<Fault> moved_folders();
std::vector<Fault> changed_data();

}  // namespace shardscope::faults
