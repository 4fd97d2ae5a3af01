#include "engine/session/session_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

constexpr const char *prefix = "shardscope-run-", *lock_name = "lock";

std::string base_directory() {
  const char* configured = std::getenv("TMPDIR");
  return configured && *configured ? configured : "/tmp";
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// What the lock of a directory says; empty of what is no directory of this user.
std::string marker_of(const fs::path& directory) {
  struct stat status {};
  const bool is_own =
      ::lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  if (!is_own) return "";
  return fmt::format("session directory {} (inode {}) of a run of shardscope on {}\n", directory.filename().string(),
                     status.st_ino, host_name());
}

bool says(int file, const std::string& marker) {
  struct stat status {};
  std::array<char, 1024> text;
  if (marker.empty() || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  return count >= 0 && std::string(text.data(), static_cast<size_t>(count)) == marker;
}

// The lock last: what cannot be removed now, or is left by an interrupted removal, is found by the next start.
void remove_directory(const fs::path& directory) {
  std::error_code fault;
  std::vector<fs::path> inside;
  for (fs::directory_iterator at(directory, fault), end; !fault && at != end; at.increment(fault)) {
    if (at->path().filename() != lock_name) inside.push_back(at->path());
  }
  for (const fs::path& path : inside) {
    if (std::error_code failed; fs::remove_all(path, failed), failed) fault = failed;
  }
  if (fault) return;
  ::unlink((directory / lock_name).c_str());
  ::rmdir(directory.c_str());
}

// An owner writes the marker when it has locked the file, and not before.
void remove_if_abandoned(const fs::path& directory) {
  const int lock = ::open((directory / lock_name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (lock < 0) return;
  if (says(lock, marker_of(directory)) && ::flock(lock, LOCK_EX | LOCK_NB) == 0) remove_directory(directory);
  ::close(lock);
}

void remove_abandoned(const std::string& base) {
  std::error_code error;
  for (fs::directory_iterator at(base, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) remove_if_abandoned(at->path());
  }
}

}  // namespace

SessionDirectory::SessionDirectory() {
  const std::string base = base_directory();
  remove_abandoned(base);
  const auto fail = [&](const char* action) {
    Error error{"session_directory", fmt::format("cannot {}: {}", action, std::strerror(errno)), in_file(base),
                "set TMPDIR to a place that can be written"};
    if (!path_.empty()) remove_directory(path_);
    if (lock_ >= 0) ::close(lock_);
    throw Failure(std::move(error));
  };
  std::string made = base + "/" + prefix + "XXXXXX";
  if (!::mkdtemp(made.data())) fail("make a directory");
  path_ = made;
  lock_ = ::open((path_ + "/" + lock_name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_ < 0) fail("make a file");
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) fail("lock a file");
  const std::string marker = marker_of(path_);
  if (::write(lock_, marker.data(), marker.size()) != std::ssize(marker)) fail("write a file");
}

SessionDirectory::~SessionDirectory() {
  remove_directory(path_);
  ::close(lock_);
}

}  // namespace shardscope
