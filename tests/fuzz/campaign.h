#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace shardscope::fuzz {

// The input of this number: one of the corpus as it is, then mutants. The same for the same seed everywhere.
std::string input_of_number(const Target& target, uint64_t seed, int64_t number);

struct Finding {
  std::string target;
  int64_t number = 0;
  std::string what;    // "SIGSEGV", "takes longer than 2 s", what is wrong with the answer
  std::string report;  // of a sanitizer, where there is one
};

struct TargetResult {
  std::string name;
  int64_t inputs = 0, refused = 0;
  double slowest_seconds = 0;
  int64_t slowest = 0;  // its number
  std::vector<Finding> findings;
};

struct Campaign {
  int64_t inputs = 0;  // of each target
  int64_t first = 0;   // number
  uint64_t seed = 0;
  double seconds = 2;  // of processor time that an input may take
};

// Runs the inputs in a process of its own, which is started anew where one of them ends it.
TargetResult run_campaign(const Target& target, const Campaign& campaign);

}  // namespace shardscope::fuzz
