#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "engine/session/host_report.h"
#include "engine/session/messages.h"

// How failures speak of ranks.
namespace shardscope {

bool has_ended(const RankObservation& rank);  // its process was seen, and is no more
bool has_finished(const RankObservation& rank);
bool is_done(const RankObservation& rank);  // has finished, and has ended well as far as that is known: all is written
bool has_failed(const RankObservation& rank);  // and has said so itself
bool is_halted(char process_state);            // stopped or frozen; a rank that a debugger holds is not
// Where it is, as far as anything is known of it.
RankPhase phase_of(const RankObservation& rank);

// What a rank says of its own failure, so without its name: "all_gather: ...".
std::string own_words(const std::exception& error, int rank);
// What a failed rank has said.
std::string own_words(const RankObservation& observation);
// The plan step that it is in; empty before the first.
std::string current_op(const RankObservation& rank, std::span<const PlanStepName> plan_steps);
// " while planning", " in training step 5, at 'adam'", " after the end of training".
std::string place_of(const RankObservation& rank, std::span<const PlanStepName> plan_steps);
// "rank 3", "ranks 0, 1 and 2", "4 ranks (0, 1, 2 ...)".
std::string list_ranks(std::span<const int> ranks);

}  // namespace shardscope
