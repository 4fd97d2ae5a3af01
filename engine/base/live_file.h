#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/held_folder.h"
#include "engine/base/output_file.h"

namespace shardscope {

// A file of lines that others may read while they are written: the steps of a run, the messages of its record. It takes
// the place of another in three stages, so that no call that is refused, and no run that fails, has lost one:
//
//   LiveFile file(path, Existing::overwrite, inputs);
//     // locked; what exists is as it was, and PATH.part is written beside it
//   ...  // all else that may be refused
//   file.begin();
//     // readers find the new file at PATH, the one of before at PATH.old
//   file.put("{...}\n");
//   file.complete();
//     // the run has ended well: PATH.old is removed
//
// Names that are taken are left alone: PATH.part.2, PATH.old.2 and so on are chosen then. A file that is new, or that
// is added to, has its own name from the start. A new one is removed where begin() was not called. Pipes and devices
// are written to as they are. Of two that are opened at one path, by whatever process, the second is refused until the
// first has gone.
class LiveFile {
 public:
  // Throws Failure as open_output(). `in`: the folder of the path, where it is held open, for as long as this lives:
  // all is done in that one, wherever it is moved to.
  LiveFile(std::string path, Existing existing, const std::vector<std::string>& inputs, const HeldFolder* in = nullptr);
  ~LiveFile();
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  // Whether begin() will keep a file of before.
  bool replaces() const { return !part_.empty(); }
  // `kept`: the name that the file of before gets, which is free, on the same file system; empty: PATH.old. Throws
  // Failure (unwritable_file) with both files as they were. Where lines are added to a file, its last line is ended if
  // that was cut off.
  void begin(const std::string& kept = {});
  // What begin() has done is undone, where another part of a start fails: the file of before has its path again, and a
  // new one goes with this. Where somebody has moved one of them, both stay, and kept() names the one of before.
  void undo();
  bool has_ended_cut_line() const { return has_ended_cut_line_; }
  // Removes what begin() has kept, once the new file is on the disk; keeps it where that fails.
  void complete();
  // The name of what begin() has kept, until complete(); empty: nothing was there.
  const std::string& kept() const { return kept_; }

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }  // that the file has, from begin() on
  std::FILE* file() const { return file_.get(); }
  // Writes and flushes all of the text. 0, or the errno.
  int put(std::string_view text);
  // What is wrong with a regular file that somebody has removed, or truncated, since begin(): what put() had written is
  // lost, or some of it.
  std::optional<Error> loss() const;

 private:
  const std::string& own_name() const { return part_.empty() ? name_ : part_; }

  std::string path_;                // that a person gave
  std::string name_, part_, kept_;  // for calls
  OutputFile file_;
  OutputFile before_;  // locked, where there is one to be replaced
  bool is_new_ = false, has_begun_ = false, has_ended_cut_line_ = false;
  int64_t bytes_ = 0;  // that must be in the file
};

// Gives the file at `path` the name `kept` too, and then `part` the name `path`: at no moment is there no file at
// `path`, but on file systems without hard links. `kept` must be free. Throws Failure (unwritable_file).
void replace_keeping(const std::string& part, const std::string& path, const std::string& kept);

}  // namespace shardscope
