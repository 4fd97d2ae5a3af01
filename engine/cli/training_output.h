#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "engine/base/live_file.h"
#include "engine/cli/bounded_output.h"
#include "engine/cli/training_lines.h"
#include "engine/plan/plan.h"
#include "engine/session/messages.h"

namespace shardscope {

// A named place for texts. After the first that cannot be written it takes no more.
class TextSink {
 public:
  TextSink() = default;  // takes all, and keeps nothing
  // Each text is flushed at once. What is written to stays the caller's.
  TextSink(std::string name, std::FILE* file);
  TextSink(std::string name, BoundedOutput& output);
  explicit TextSink(LiveFile& file);

  // errno of what could not be written so far; 0: nothing. An empty text asks.
  int put(const std::string& text);
  // "standard output: cannot write: No space left on device"; empty where all could be written.
  std::string problem() const;

 private:
  std::string name_;
  std::function<int(const std::string&)> print_;
  int error_ = 0;
};

// What a training prints: the original program's lines, and one JSON object a step.
class TrainingOutput {
 public:
  TrainingOutput(TextSink lines, TextSink steps) : lines_(std::move(lines)), steps_(std::move(steps)) {}

  // False when something could not be written (a closed pipe, a full disk).
  bool begin(const Plan& plan);
  bool step(const StepMessage& step);
  bool restart(const RestartMessage& restart);

  TextSink& lines() { return lines_; }
  TextSink& steps() { return steps_; }
  const TextSink& lines() const { return lines_; }
  const TextSink& steps() const { return steps_; }

 private:
  TextSink lines_, steps_;
  ProgressText progress_{{}, 0};
};

}  // namespace shardscope
