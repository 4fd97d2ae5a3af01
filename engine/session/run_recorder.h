#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/output_file.h"
#include "engine/plan/device_profile.h"
#include "engine/session/messages.h"
#include "engine/session/record_files.h"
#include "engine/session/told_message.h"

namespace shardscope {

// Writes the record of a run (engine/session/recorded_run.h) while the run goes on: what was told is in the files when
// add() returns, but for traces, which come often and are large: of these the newest are, that were told `traces_every`
// ago or longer, and all at a restart and at the end.
class RunRecorder {
 public:
  static constexpr std::chrono::seconds traces_every{2};

  // Throws Failure where no record may be made: file_exists, unless the folder is empty, or is a record that `existing`
  // allows to be overwritten: of one that is no record nothing is ever lost; output_is_input where one of its files is
  // among `inputs`; unwritable_file.
  static void check(const std::string& folder, Existing existing, const std::vector<std::string>& inputs);

  // Throws as check(), and at once where nothing could be written (unwritable_file).
  RunRecorder(const std::string& folder, Existing existing, HelloMessage hello, const DeviceProfile& profile);
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  // What watchers are told, after Hello. Throws Failure (unwritable_file); nothing is written from then on.
  void add(const ToldMessage& told);
  void add(const Message& message) { add(ToldMessage(message)); }

 private:
  void write(const ToldMessage& told);
  void write_traces();

  RecordFiles files_;
  OutputFile messages_;
  std::array<std::optional<TraceMessage>, 3> traces_;  // by choice, that are not written yet
  std::chrono::steady_clock::time_point traced_;       // when traces were written
};

}  // namespace shardscope
