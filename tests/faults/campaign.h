#pragma once

#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "tests/faults/trial.h"

namespace shardscope::faults {

struct Campaign {
  std::string program;  // shardrun
  int trials = 0;       // 0: each fault once in each of its phases
  uint64_t seed = 0;
  std::regex only = std::regex("");  // of the faults' names
  int at_a_time = 2;
  std::function<void(const Trial&)> on_trial = [](const Trial&) {};  // one call at a time
};

// Each fault in each of its phases, and that again until there are as many trials as asked for, in a drawn order in
// which the kinds of faults take turns, so that few trials see all kinds. Faults that this machine cannot make are left
// out. None where no fault has such a name.
std::vector<TrialRequest> requests_of(const Campaign& campaign);
// Of each request its trial, in the order of the faults.
std::vector<Trial> run_campaign(const Campaign& campaign, const std::vector<TrialRequest>& requests);

// Whether every trial has harmed its run, and each run has ended as is right; the long form asks also that it was in
// time, which a busy machine may break.
bool went_well(const std::vector<Trial>& trials);
bool were_in_time(const std::vector<Trial>& trials);

// One line for each fault that is left out: name and why.
std::vector<std::string> left_out();

}  // namespace shardscope::faults
