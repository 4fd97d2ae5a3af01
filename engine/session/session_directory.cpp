#include "engine/session/session_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
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

// A directory is made, and removed, under a name that nobody takes for abandoned before it is old; it has its own while
// it is locked.
constexpr const char *prefix = "shardscope-run-", *new_prefix = "shardscope-new-";
constexpr size_t suffix_length = 6;
constexpr time_t settled_seconds = 60;

std::string base_directory() {
  const char* configured = std::getenv("TMPDIR");
  return configured && *configured ? configured : "/tmp";
}

bool is_own_directory(const fs::path& path, struct stat& status) {
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

bool is_locked(const fs::path& directory) {
  const int lock = ::open((directory / "lock").c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return errno != ENOENT;  // whatever cannot be looked at is left alone
  const bool locked = ::flock(lock, LOCK_EX | LOCK_NB) != 0;
  ::close(lock);
  return locked;
}

bool is_abandoned(const fs::path& directory) {
  const std::string name = directory.filename().string();
  struct stat status {};
  if (name.starts_with(prefix)) return is_own_directory(directory, status) && !is_locked(directory);
  return name.starts_with(new_prefix) && is_own_directory(directory, status) &&
         ::time(nullptr) - status.st_mtime > settled_seconds && !is_locked(directory);
}

void remove_abandoned(const std::string& base) {
  std::error_code error;
  for (fs::directory_iterator at(base, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (is_abandoned(at->path())) fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

SessionDirectory::SessionDirectory() {
  const std::string base = base_directory();
  remove_abandoned(base);
  const auto fail = [&](const char* action) {
    Error error{"session_directory", fmt::format("cannot {}: {}", action, std::strerror(errno)), in_file(base),
                "set TMPDIR to a place that can be written"};
    if (lock_ >= 0) ::close(lock_);
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
    throw Failure(std::move(error));
  };
  std::string made = base + "/" + new_prefix + "XXXXXX";
  if (!::mkdtemp(made.data())) fail("make a directory");
  path_ = made;
  const std::string lock_path = path_ + "/lock";
  lock_ = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_ < 0) fail("make a file");
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) fail("lock a file");
  const std::string named = base + "/" + prefix + path_.substr(path_.size() - suffix_length);
  if (::rename(path_.c_str(), named.c_str()) != 0) fail("rename a directory");
  path_ = named;
}

SessionDirectory::~SessionDirectory() {
  std::error_code ignored;
  const fs::path named(path_);
  const fs::path leaving = named.parent_path() / (new_prefix + path_.substr(path_.size() - suffix_length));
  fs::rename(named, leaving, ignored);
  fs::remove_all(ignored ? named : leaving, ignored);
  ::close(lock_);
}

}  // namespace shardscope
