#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// The file that bind() has made for a local socket. It is known by its inode: one that somebody else has put at the
// path since is not this one.
class SocketFile {
 public:
  SocketFile() = default;
  // After bind(), while the socket is open: until that is closed no other file has this inode.
  explicit SocketFile(std::string path);

  // Removes the file where it is still at its path. Before the socket is closed.
  void remove() const;

 private:
  std::string path_;
  uint64_t device_ = 0, inode_ = 0;  // 0: unknown
};

}  // namespace shardscope
