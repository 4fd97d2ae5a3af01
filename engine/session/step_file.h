#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/session/messages.h"

namespace shardscope {

// All steps of a run on disk, in a file without a name, so that it goes with the process: a record of fixed size for
// each step, and behind every step's time and metrics the measurements of ranks for the last `detailed_steps`.
class StepFile {
 public:
  static constexpr int64_t detailed_steps = 16384;

  // In that directory. Throws Failure (session_file), as add() does where the disk is full.
  StepFile(const std::string& directory, int ranks, std::vector<std::string> metrics);
  ~StepFile();
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;

  // Ascending without gaps; a step that is reported again, by a run that began anew, drops what came after it.
  void add(const StepMessage& step);
  // Those of steps [from, to) that are there, the first `most` of them.
  std::vector<StepMessage> read(int64_t from, int64_t to, size_t most) const;

 private:
  void write(int file, const void* data, size_t bytes, int64_t at);
  void read(int file, void* data, size_t bytes, int64_t at) const;

  std::string directory_;
  size_t ranks_;
  std::vector<std::string> metrics_;
  int values_ = -1;   // the time and the metrics of each step, at its place
  int details_ = -1;  // rings of the step's number and its ranks
  int64_t begin_ = 0, end_ = 0;
};

}  // namespace shardscope
