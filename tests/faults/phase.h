#pragma once

#include <array>
#include <string_view>

namespace shardscope::faults {

// How far a run is, as seen from outside: by its processes, and by what one of its ranks says of itself.
enum class Phase {
  launching,   // the launcher has no mpirun yet
  starting,    // mpirun has not made the rank's process yet
  joining,     // the rank has no telemetry yet, or waits for the others in MPI_Init
  planning,    // it has no plan yet
  allocating,  // it has no memory yet
  initialising,
  computing,
  exchanging,  // in a collective
  finishing,   // trained; leaving
  ended
};

inline constexpr std::array<std::string_view, 10> phase_names = {
    "launching",    "starting",  "joining",    "planning",  "allocating",
    "initialising", "computing", "exchanging", "finishing", "ended"};

constexpr std::string_view name(Phase phase) { return phase_names[static_cast<size_t>(phase)]; }

}  // namespace shardscope::faults
