#pragma once

#include <string>

namespace shardscope {

// A private directory of one run under $TMPDIR or /tmp, removed with all it holds when this object goes. Its file
// `lock` says the directory's own name and inode and the host, and is locked by its owner:
//
//   session directory shardscope-run-a1B2c3 (inode 4711) of a run of shardscope on node7
//
// A start removes the directories of this user whose owner was killed: those of such a name whose `lock` is a regular
// file that says just that, so that a copied, renamed or foreign folder is none, nor one of another host on a shared
// disk, and that nobody has locked. No symbolic link is followed, and what is removed is held open: a directory that
// was moved stays where it is, with all it holds, and so does what has taken its place.
class SessionDirectory {
 public:
  SessionDirectory();  // throws Failure (code session_directory)
  ~SessionDirectory();
  SessionDirectory(const SessionDirectory&) = delete;
  SessionDirectory& operator=(const SessionDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int folder_ = -1, lock_ = -1;
};

}  // namespace shardscope
