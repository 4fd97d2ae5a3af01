#pragma once

#include <string>
#include <vector>

#include "engine/session/family_times.h"

namespace shardscope {

// What a recorded training step says of the machine that its plan was made for.
struct MachineCorrection {
  struct Family {
    FamilyTimes times;
    bool is_off = false;        // by more than 10 %, and worth 1 % of the step
    bool is_corrected = false;  // nor where most of it is latency
    double corrected = 0;       // what `machine` predicts, s
  };
  std::vector<Family> families;  // the longest first; none where the trace is of another plan
  Machine machine;               // the plan's, with what is off as measured
  double measured = 0;           // all families, s of the step on the mean rank

  bool changes_machine() const;
  // "gelu: 1.25 times as long as predicted, 12 % of the step": of each that is off, or that none is.
  std::vector<std::string> lines() const;
};

// Efficiencies are at most 1: what was faster than the machine's memory allows is corrected up to that.
MachineCorrection correct_machine(const Plan& plan, const TraceMessage& trace);

}  // namespace shardscope
