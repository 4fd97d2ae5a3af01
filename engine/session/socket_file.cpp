#include "engine/session/socket_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace shardscope {

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

void SocketFile::remove() const {
  struct stat status {};
  if (inode_ == 0 || ::lstat(path_.c_str(), &status) != 0) return;
  if (S_ISSOCK(status.st_mode) && status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace shardscope
