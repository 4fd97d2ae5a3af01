#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/faults/fault.h"

namespace shardscope::faults {

struct Trial {
  std::string fault;
  Phase aimed = Phase::launching;
  Phase hit = Phase::ended;           // the phase it was in when the fault came
  bool missed = false;                // there was nothing left to harm, however often it was tried
  bool has_culprit = false;           // standard error must name one; else the run must finish, or end with a reason
  bool named = false;                 // it has
  std::optional<double> named_after;  // seconds from the fault to the right word; without a culprit to the end
  double ended_after = 0;
  int code = -1;
  std::vector<std::string> complaints;  // about name, code and course
  std::vector<std::string> left;
  bool late = false;
  std::string errors;  // its standard error

  bool right() const { return complaints.empty() && left.empty(); }
};

struct TrialRequest {
  size_t fault = 0;  // in all_faults()
  Phase phase = Phase::launching;
  uint64_t seed = 0;
};

// One run, harmed once and judged. Tries again, with other seeds, where the fault came too late.
Trial run_trial(const TrialRequest& request, const std::string& program);

}  // namespace shardscope::faults
