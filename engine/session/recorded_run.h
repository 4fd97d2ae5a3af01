#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/machine/machine.h"
#include "engine/session/messages.h"
#include "engine/session/record_files.h"

namespace shardscope {

// What a run leaves where that is asked for (`shardrun train --record DIR`): a folder in which all is that a later
// reader needs to lay what was measured beside what was planned.
//
//   record.json         {"format": 1, "version": "0.1.0", "started": 1767312000.25}; seconds since 1970
//   run_file.json       the run file, overrides applied, paths absolute
//   machine.json        the machine of the plan: compile() of both gives the plan whose hash Hello tells. Of earlier
//                       versions profile.json (former_profile.h)
//   messages.jsonl      what a client of the run was sent, a line each (engine/session/messages.h): Hello, without the
//                       text of the run file, then states, steps, logs, restarts, failure as they came, Finished
//   trace_latest.json   the last trace of each choice, likewise; there where the run came so far, and of a run that was
//                       killed perhaps some seconds older
//   trace_slowest.json
//   trace_median.json
//
// A run that is killed leaves all that it had reported: no Finished then, and perhaps a last line that is cut, which is
// none. Written by RunRecorder, while the run goes on.
class RecordedRun {
 public:
  static constexpr int format = 1;

  // Whether there is a record in the folder, of whatever version.
  static bool is_at(const std::string& folder);

  // Throws Failure, each at its file and line: unreadable_record; record_version where another format or version of
  // the program wrote it; bad_record.
  explicit RecordedRun(const std::string& folder);

  const RecordFiles& files() const { return files_; }
  double started() const { return started_; }           // seconds since 1970
  const HelloMessage& hello() const { return hello_; }  // whole, but for machine()
  const Machine& machine() const { return machine_; }
  const std::vector<TraceMessage>& traces() const { return traces_; }  // of each choice that there is, in that order

  // Hello, then all other messages in their order, the traces before Finished (or last, without it): as a client would
  // have seen them. Steps that a restart did anew come again. Throws Failure (bad_record) at the line.
  void replay(const std::function<void(const Message&)>& take) const;

 private:
  RecordFiles files_;
  double started_ = 0;
  HelloMessage hello_;
  Machine machine_;
  std::vector<TraceMessage> traces_;
};

// Removes the files that a recorder has made in the folder, and the folder where nothing else is in it. What is not a
// regular file, or a folder that is a symbolic link, is left alone.
void remove_record(const std::string& folder);

}  // namespace shardscope
