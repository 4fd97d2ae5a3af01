#pragma once

#include <string>
#include <vector>

namespace shardscope {

// shardrun calibrate --machine NAME|FILE --from MEASUREMENTS ... [--out NEW] [--keep].
struct FitArguments {
  std::string machine;
  std::vector<std::string> measurements;
  std::string out;    // a new file for the fitted machine; empty: none
  bool keep = false;  // it replaces the file that `machine` names
};

// Fits the machine's efficiency of products and its levels to the rows of all files, then its shares to half of the
// training steps, where there are four and more (fit_steps.h), and prints each row with what was measured, what the
// machine predicted before and predicts now, and the error, by kind the mean and the worst. The mean error of the steps
// that nothing was fitted to becomes the machine's evidence.
// This host's own machine is never written. Throws Failure for what cannot be read, fitted, planned or written.
int fit_to_measurements(const FitArguments& arguments);

}  // namespace shardscope
