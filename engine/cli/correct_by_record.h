#pragma once

#include <string>

namespace shardscope {

// shardrun calibrate --from RECORD [--out FILE] [--keep].
struct CorrectionArguments {
  std::string record;
  std::string out;    // the file of the corrected machine; empty: none
  bool keep = false;  // it becomes this host's
};

// Prints what each family of instructions took beside its prediction, which of them are off, and what the corrected
// machine predicts. Throws Failure, as recorded_source(), and for what cannot be written.
int correct_by_record(const CorrectionArguments& arguments);

}  // namespace shardscope
