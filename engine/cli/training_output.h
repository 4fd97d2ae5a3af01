#pragma once

#include <cstdio>
#include <string>

#include "engine/cli/output_file.h"
#include "engine/cli/training_lines.h"
#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// Where a training prints: the original program's lines to standard output, and one JSON object a step to a file.
// Everything is flushed at once.
class TrainingOutput {
 public:
  // `jsonl_path` may be empty, and is then not written; `jsonl` is that file, opened.
  TrainingOutput(std::string jsonl_path, OutputFile jsonl)
      : jsonl_path_(std::move(jsonl_path)), jsonl_(std::move(jsonl)) {}

  // False when something could not be written (a closed pipe, a full disk), which is said once on standard error.
  bool begin(const Plan& plan);
  bool step(const StepMessage& step);
  bool restart(const RestartMessage& restart);

 private:
  bool put(std::FILE* file, const std::string& text, const std::string& where);

  std::string jsonl_path_;
  OutputFile jsonl_;
  ProgressText progress_{{}, 0};
  bool broken_ = false;
};

}  // namespace shardscope
