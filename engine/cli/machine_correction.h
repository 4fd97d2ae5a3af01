#pragma once

#include <string>

namespace shardscope {

// shardrun calibrate --from RECORD: what a recorded run says of the machine that it was planned for.
struct MachineCorrection {
  std::string record;
  std::string out;    // the file of the corrected machine; empty: none
  bool keep = false;  // it becomes this host's

  // Prints what each family of instructions took beside its prediction, which of them are off, and what the corrected
  // machine predicts: efficiencies are at most 1, so a kernel stays as slow as its memory. Throws Failure, as
  // recorded_source(), and for what cannot be written.
  int run() const;
};

}  // namespace shardscope
