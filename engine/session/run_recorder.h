#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/held_folder.h"
#include "engine/base/live_file.h"
#include "engine/base/new_folders.h"
#include "engine/machine/machine.h"
#include "engine/session/messages.h"
#include "engine/session/record_files.h"
#include "engine/session/reported_message.h"

namespace shardscope {

// Writes the record of a run (engine/session/recorded_run.h) while the run goes on: what was reported is in the files
// when add() returns, but for traces, which come often and are large: of these the newest are, that were reported
// `traces_every` ago or longer, and all at a restart and at the end.
//
// A record takes the place of another in the stages of a LiveFile (engine/base/live_file.h), file by file, since the
// folder may hold checkpoints and other files of the user, which stay where they are:
//
//   RunRecorder record(DIR, Existing::overwrite, ...);
//     // locked; the record of before is as it was
//   record.begin();
//     // readers find the new record in DIR, that of before in DIR/old
//   record.add(...);
//   record.complete();
//     // DIR/old is removed
//
// Both folders are held open: where somebody moves one, what is written goes with it, what takes its path is not
// touched, and the end of the run says so. Without begin() nothing is left of it, nor of folders that were made for it.
// Of two that are made in one folder, by whatever process, the second is refused until the first has gone.
class RunRecorder {
 public:
  static constexpr std::chrono::seconds traces_every{2};

  // Throws Failure where no record may be made: file_exists, unless the folder is empty, or is a record that `existing`
  // allows to be replaced and nobody writes: of one that is no record nothing is ever lost, no symbolic link is
  // followed; output_is_input where one of its files is among `inputs`; unwritable_file.
  RunRecorder(const std::string& folder, Existing existing, const std::vector<std::string>& inputs, HelloMessage hello,
              const Machine& machine);
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  // Before add(). Throws Failure (unwritable_file) with the record of before as it was, unless kept() says where it is.
  void begin();
  // What begin() has done, likewise, where another part of the start has failed.
  void undo();
  // What clients are sent, after Hello. Throws Failure (unwritable_file, also where somebody has removed or truncated
  // what was written, or moved the folder, at the end); nothing is written from then on.
  void add(const ReportedMessage& reported);
  void add(const Message& message) { add(ReportedMessage(message)); }
  // The run has ended well: removes the record of before, unless no step was reported: it has more to say than the new
  // one.
  void complete();
  // The folder of the record of before, from begin() to complete(), or to which it was moved; empty: there was none.
  const std::string& kept() const { return kept_; }

 private:
  void keep_traces();
  bool is_old_in_place() const;
  void remove_old();
  void write_traces();
  void write_trace(const TraceMessage& trace);

  RecordFiles files_;
  NewFolders folders_;
  HeldFolder held_;
  std::optional<HeldFolder> old_;  // in it, with the record of before
  LiveFile messages_, run_file_, machine_, header_;
  std::string kept_;
  bool is_open_ = false, has_step_ = false;
  std::array<std::optional<TraceMessage>, std::size(trace_choices)> traces_;  // reported, not yet written
  std::chrono::steady_clock::time_point traced_;
};

}  // namespace shardscope
