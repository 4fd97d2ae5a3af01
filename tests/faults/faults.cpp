#include <initializer_list>

#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

std::vector<Fault> all_faults() {
  std::vector<Fault> all;
  size_t number = 0;
  for (std::vector<Fault> (*kind)() : {
           signals_to_a_rank,
           stops_of_a_rank,
           frozen_ranks,
           debugged_ranks,
           stuck_ranks,
           signals_to_mpirun,
           stopped_mpirun,
           fake_mpirun,
           signals_to_the_launcher,
           restarts,
           pauses,
           closed_terminals,
           limits,
           temporary_folders,
           shared_memories,
           exhausted_memory,
           exhausted_descriptors,
           unread_output,
           unwritable_output,
           unwritable_steps,
           clients,
           lost_hosts,
           unauthenticated_peers,
           second_writers,
           moved_folders,
           changed_data,
       }) {
    for (Fault& fault : kind()) {
      fault.kind = number;
      all.push_back(std::move(fault));
    }
    ++number;
  }
  return all;
}

}  // namespace shardscope::faults
