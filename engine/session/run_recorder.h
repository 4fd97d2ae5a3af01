#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/live_file.h"
#include "engine/plan/device_profile.h"
#include "engine/session/messages.h"
#include "engine/session/record_files.h"
#include "engine/session/told_message.h"

namespace shardscope {

// Writes the record of a run (engine/session/recorded_run.h) while the run goes on: what was told is in the files when
// add() returns, but for traces, which come often and are large: of these the newest are, that were told `traces_every`
// ago or longer, and all at a restart and at the end.
//
// A record takes the place of another in the stages of a LiveFile (engine/base/live_file.h), file by file, since the
// folder may hold checkpoints and other files of the user, which stay where they are:
//
//   RunRecorder record(DIR, Existing::overwrite, ...);  // locked; the record of before is as it was
//   record.begin();                                     // readers find the new record in DIR, that of before in
//   DIR/old record.add(...); record.complete();                                  // DIR/old is removed
//
// Without begin() nothing is left of it, nor of folders that were made for it. Of two that are made in one folder, by
// whatever process, the second is refused until the first has gone.
class RunRecorder {
 public:
  static constexpr std::chrono::seconds traces_every{2};

  // Throws Failure where no record may be made: file_exists, unless the folder is empty, or is a record that `existing`
  // allows to be replaced and nobody writes: of one that is no record nothing is ever lost, no symbolic link is
  // followed; output_is_input where one of its files is among `inputs`; unwritable_file.
  RunRecorder(const std::string& folder, Existing existing, const std::vector<std::string>& inputs, HelloMessage hello,
              const DeviceProfile& profile);
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  // Before add(). Throws Failure (unwritable_file).
  void begin();
  // What watchers are told, after Hello. Throws Failure (unwritable_file, also where somebody has removed or truncated
  // what was written, at the end); nothing is written from then on.
  void add(const ToldMessage& told);
  void add(const Message& message) { add(ToldMessage(message)); }
  // The run has ended well: removes the record of before.
  void complete();
  // The folder of the record of before, from begin() to complete(); empty: there was none.
  const std::string& kept() const { return kept_; }

 private:
  // The folders that were made for a record, which go where it does not begin.
  class NewFolders {
   public:
    explicit NewFolders(const std::string& path);  // throws Failure (unwritable_file)
    ~NewFolders() { remove(); }
    NewFolders(const NewFolders&) = delete;
    NewFolders& operator=(const NewFolders&) = delete;
    void keep() { made_.clear(); }

   private:
    void remove();

    std::vector<std::string> made_;  // the innermost last
  };

  void write_traces();

  RecordFiles files_;
  NewFolders folders_;
  LiveFile messages_, run_file_, profile_, header_;
  std::string kept_;
  bool is_open_ = false;
  std::array<std::optional<TraceMessage>, std::size(RecordFiles::choices)> traces_;  // told, not yet written
  std::chrono::steady_clock::time_point traced_;
};

}  // namespace shardscope
