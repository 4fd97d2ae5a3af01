#pragma once

#include <string>

#include "engine/session/mapped_file.h"

namespace shardscope {

// The word DIR/control by which the launcher of a run asks its ranks to stop after the step they are in. Ranks look
// at it at different moments, so they must agree (one rank looks, all learn it by a collective) before they leave
// the training loop.
class Control {
 public:
  static Control create(const std::string& session_directory);  // by the launcher, before the ranks
  static Control open(const std::string& session_directory);    // by a rank; throws Failure when there is none

  void request_stop() noexcept;  // also from a signal handler
  bool stop_requested() const noexcept;

 private:
  explicit Control(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
};

}  // namespace shardscope
