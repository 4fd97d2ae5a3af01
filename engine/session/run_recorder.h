#pragma once

#include <string>

#include "engine/base/output_file.h"
#include "engine/plan/device_profile.h"
#include "engine/session/messages.h"

namespace shardscope {

// Writes the record of a run (engine/session/recorded_run.h) while the run goes on: what was told is in the files when
// add() returns.
class RunRecorder {
 public:
  // Throws Failure at once where nothing could be written: unwritable_record; file_exists, unless the folder is empty,
  // or is a record that `existing` allows to be overwritten: of one that is no record nothing is ever lost.
  RunRecorder(std::string folder, Existing existing, HelloMessage hello, const DeviceProfile& profile);

  // What watchers are told, after Hello. Throws Failure (unwritable_record); nothing is written from then on.
  void add(const Message& message);

  const std::string& folder() const { return folder_; }

 private:
  void write_trace(const TraceMessage& trace);

  std::string folder_;
  OutputFile messages_;
};

}  // namespace shardscope
