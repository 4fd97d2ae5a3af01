#include "engine/session/session_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "engine/base/error.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

constexpr const char* prefix = "shardscope-run-";
constexpr time_t settled_seconds = 60;  // between making a directory and locking it

std::string base_directory() {
  const char* configured = std::getenv("TMPDIR");
  return configured && *configured ? configured : "/tmp";
}

bool is_abandoned(const fs::path& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
    return false;
  }
  int lock = ::open((directory / "lock").c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return errno == ENOENT && ::time(nullptr) - status.st_mtime > settled_seconds;
  bool locked = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return locked;
}

void remove_abandoned(const std::string& base) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(base, error)) {
    if (!entry.path().filename().string().starts_with(prefix) || !is_abandoned(entry.path())) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

SessionDirectory::SessionDirectory() {
  std::string base = base_directory();
  remove_abandoned(base);
  path_ = base + "/" + prefix + "XXXXXX";
  if (!::mkdtemp(path_.data())) {
    throw Failure(Error{"session_directory", std::string("cannot make a directory: ") + std::strerror(errno),
                        in_file(base), "set TMPDIR to a place that can be written"});
  }
  std::string lock_path = path_ + "/lock";
  lock_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    Error error{"session_directory", std::string("cannot lock: ") + std::strerror(errno), lock_path, ""};
    if (lock_ >= 0) ::close(lock_);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    throw Failure(error);
  }
}

SessionDirectory::~SessionDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace shardscope
