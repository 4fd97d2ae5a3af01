#pragma once

#include <functional>
#include <regex>
#include <string>
#include <vector>

#include "tests/faults/trial.h"

namespace shardscope::faults {

struct Campaign {
  std::string program;  // shardrun
  int trials = 300;
  uint64_t seed = 0;
  std::regex only = std::regex("");  // of the faults' names
  int at_a_time = 2;
  std::function<void(const Trial&)> on_trial = [](const Trial&) {};  // one call at a time
};

// Each fault in each of its phases as often as the number of trials allows, in a drawn order in which the kinds of
// faults take turns, so that few trials see all kinds. Faults that this machine cannot make are left out.
std::vector<Trial> run_campaign(const Campaign& campaign);

// One line for each fault that is left out: name and why.
std::vector<std::string> left_out();

}  // namespace shardscope::faults
