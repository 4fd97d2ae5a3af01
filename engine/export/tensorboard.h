#pragma once

#include <string>

#include "engine/base/live_file.h"
#include "engine/base/new_folders.h"
#include "engine/session/messages.h"

namespace shardscope {

// The scalars of a training step as a record of an event file: each metric under its name, step_ms, and, of each rank,
// busy_ms/rank_0, wait_ms/rank_0, wire_bytes_sent/rank_0, moved_bytes/rank_0 and outside_bytes/rank_0.
std::string step_record(const StepMessage& step, double wall_time);

// Tells TensorBoard of a run while it goes on: a new event file in a folder, which is made where it is not there.
class TensorboardLog {
 public:
  // The file is there from now on, but goes again, with folders that were made for it, where begin() is not called, or
  // undone. Throws Failure (unwritable_file), as add() does (where somebody has removed or truncated the file, at the
  // end): which is not to be called again then.
  explicit TensorboardLog(const std::string& folder);
  void begin();
  void undo();

  // What clients are sent. Of it steps and restarts are written.
  void add(const Message& message);

 private:
  void append(const std::string& record);

  NewFolders folders_;
  LiveFile file_;
};

}  // namespace shardscope
