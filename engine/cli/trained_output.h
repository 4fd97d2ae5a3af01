#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/output_file.h"
#include "engine/export/export_target.h"
#include "engine/plan/plan.h"

namespace shardscope {

// What a training leaves when its last step is done, each as its path, or empty where it is not asked for: all
// parameters, whole, as a safetensors file; what the trained model predicts of each example of its data, as JSON lines
// (worker/predictions.h).
struct TrainedPaths {
  std::string parameters, predictions;

  // The file into which the ranks gather the parameters for it; empty: none.
  std::string gathered() const;
  // All files that it writes.
  std::vector<std::string> files() const;
};

class TrainedOutput {
 public:
  // Opens the files, so that what cannot be written is known before the first step. What exists is as it was until
  // finish() has written all of what takes its place. Throws Failure as open_output, and where the data have no
  // examples to predict.
  TrainedOutput(const Plan& plan, TrainedPaths paths, Existing existing, std::vector<std::string> inputs);

  // After the ranks have ended; without effect where they have gathered nothing. Throws Failure.
  void finish();

 private:
  std::string run_file_;
  Machine machine_;
  TrainedPaths paths_;
  std::unique_ptr<WholeFile> parameters_;
  std::unique_ptr<ExportTarget> predictions_;
};

}  // namespace shardscope
