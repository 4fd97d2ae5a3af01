#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "engine/cli/training_lines.h"
#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// Where a training prints: the original program's lines to standard output, and one JSON object a step to a file.
// Everything is flushed at once.
class TrainingOutput {
 public:
  // `jsonl_path` may be empty. Throws Failure (code unwritable_file).
  explicit TrainingOutput(const std::string& jsonl_path);

  // False when something could not be written (a closed pipe, a full disk), which is said once on standard error.
  bool begin(const Plan& plan);
  bool step(const StepMessage& step);

 private:
  bool put(std::FILE* file, const std::string& text, const std::string& where);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string jsonl_path_;
  std::unique_ptr<std::FILE, Close> jsonl_;
  ProgressText progress_{{}, 0};
  bool broken_ = false;
};

}  // namespace shardscope
