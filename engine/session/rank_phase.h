#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shardscope {

// Where a rank is, in the order in which it gets there; from saving it goes back to training where steps follow.
enum class RankPhase : uint8_t {
  launching,     // its process has not come to main
  starting,      // it is there, and reads what it is to do
  connecting,    // in MPI_Init, which waits for all ranks
  planning,      // compiles the plan
  agreeing,      // compares plans with the others
  allocating,    // shares the arenas
  initialising,  // makes parameters and optimizer state
  training,
  saving,     // waits for a checkpoint to be written, as all ranks do then
  finishing,  // writes what is asked for at the end, and leaves MPI
};
inline constexpr size_t rank_phase_count = 10;

std::string_view name(RankPhase phase);
std::optional<RankPhase> rank_phase(std::string_view name);
std::vector<std::string_view> rank_phase_names();

}  // namespace shardscope
