#pragma once

#include <string>

namespace shardscope {

// A private directory of one run under $TMPDIR or /tmp, removed with all it holds when this object goes. Directories
// whose owner was killed are found by their free lock and removed by the next run of the same user; no other start
// takes one that is only being made for abandoned.
class SessionDirectory {
 public:
  SessionDirectory();  // throws Failure (code session_directory)
  ~SessionDirectory();
  SessionDirectory(const SessionDirectory&) = delete;
  SessionDirectory& operator=(const SessionDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace shardscope
