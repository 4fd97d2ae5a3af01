#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/input_file.h"

namespace shardscope {

// Files out of which a run reads here and there as long as it goes on, at most `most_open` of them being open. They are
// read by calls, not mapped: a file that is cut short, or whose disk fails, is an error and not a signal.
//
// A file may grow; what is behind its size at the start is not read. Throws Failure at the file: unreadable_file;
// changed_data where it has become shorter ("it had 1200 bytes when the run began and has 800"), or is another file
// under the same name (noticed where it has to be opened again). For one thread.
class DataFiles {
 public:
  static constexpr size_t most_open = 32;

  // Opens a file that must have so many bytes at least, and returns its number, counted from 0.
  size_t add(const std::string& path, int64_t bytes);
  // From here on the length of a file is looked at again, when it is read first.
  void begin_step() const { ++step_; }
  // Bytes [offset, offset + out.size()) of file `number`, which lie below its `bytes`.
  void read(size_t number, int64_t offset, std::span<std::byte> out) const;

 private:
  struct File {
    std::string path;
    int64_t bytes;
    dev_t device = 0;
    ino_t inode = 0;
    int64_t seen_in = 0;                // the step in which its length was looked at last
    std::unique_ptr<InputFile> opened;  // null: closed for others
  };

  void open(size_t number) const;

  mutable int64_t step_ = 0;
  mutable std::vector<File> files_;
  mutable std::deque<size_t> opened_;  // the oldest first
};

}  // namespace shardscope
