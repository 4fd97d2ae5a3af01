#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <QByteArray>
#include <cstdlib>

namespace shardscope {

// A terminal as a program's standard error, and what the program has written there.
class Terminal {
 public:
  Terminal() {
    if (descriptor_ >= 0 && ::grantpt(descriptor_) == 0 && ::unlockpt(descriptor_) == 0)
      kept_ = ::open(path(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  ~Terminal() {
    ::close(kept_);
    ::close(descriptor_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_open() const { return kept_ >= 0; }
  const char* path() const { return ::ptsname(descriptor_); }
  const QByteArray& said() {
    char block[4096];
    for (ssize_t count; (count = ::read(descriptor_, block, sizeof block)) > 0;) said_.append(block, count);
    return said_;
  }

 private:
  const int descriptor_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  int kept_ = -1;  // else all is lost when the program closes it
  QByteArray said_;
};

}  // namespace shardscope
