#include "engine/session/session_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

constexpr const char *directory_prefix = "shardscope-run-", *lock_name = "lock";

std::string base_directory() {
  const char* configured = std::getenv("TMPDIR");
  return configured && *configured ? configured : "/tmp";
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

int open_directory(int in, const std::string& name) {
  return ::openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// What the lock of a directory says; empty of one that this user does not own, or that is no longer at its path.
std::string marker_of(int directory, const std::string& path) {
  struct stat held {
  }, named{};
  const bool is_own = ::fstat(directory, &held) == 0 && held.st_uid == ::geteuid() &&
                      ::lstat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  if (!is_own) return "";
  return fmt::format("session directory {} (inode {}) of a run of shardscope on {}\n",
                     fs::path(path).filename().string(), held.st_ino, host_name());
}

bool says(int file, const std::string& marker) {
  struct stat status {};
  std::array<char, 1024> text;
  if (marker.empty() || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  return count >= 0 && std::string(text.data(), static_cast<size_t>(count)) == marker;
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  const int own = open_directory(directory, ".");
  DIR* const entries = own < 0 ? nullptr : ::fdopendir(own);
  if (!entries) {
    if (own >= 0) ::close(own);
    return names;
  }
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(entries);
  return names;
}

// False where something is left.
bool remove_below(int in, const std::string& name) {
  if (::unlinkat(in, name.c_str(), 0) == 0 || errno == ENOENT) return true;
  const int folder = open_directory(in, name);
  if (folder < 0) return false;
  for (const std::string& below : names_in(folder)) remove_below(folder, below);
  ::close(folder);
  return ::unlinkat(in, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

// The lock last: what cannot be removed now, or is left by an interrupted removal, is found by the next start.
void remove_directory(int directory, int lock, const std::string& path) {
  if (!says(lock, marker_of(directory, path))) return;
  bool is_empty = true;
  for (const std::string& name : names_in(directory)) is_empty &= name == lock_name || remove_below(directory, name);
  if (!is_empty) return;
  ::unlinkat(directory, lock_name, 0);
  if (!marker_of(directory, path).empty()) ::rmdir(path.c_str());
}

// An owner writes the marker when it has locked the file, and not before.
void remove_if_abandoned(const std::string& path) {
  const int directory = open_directory(AT_FDCWD, path);
  if (directory < 0) return;
  const int lock = ::openat(directory, lock_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (lock >= 0 && says(lock, marker_of(directory, path)) && ::flock(lock, LOCK_EX | LOCK_NB) == 0)
    remove_directory(directory, lock, path);
  if (lock >= 0) ::close(lock);
  ::close(directory);
}

void remove_abandoned_directories(const std::string& base) {
  std::error_code error;
  for (fs::directory_iterator at(base, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(directory_prefix)) remove_if_abandoned(at->path());
  }
}

}  // namespace

SessionDirectory::SessionDirectory() {
  const std::string base = base_directory();
  remove_abandoned_directories(base);
  const auto fail = [&](const char* action) {
    const int reason = errno;
    Error error{"session_directory", fmt::format("cannot {}: {}", action, std::strerror(reason)), in_file(base),
                "set TMPDIR to a place that can be written"};
    if (rlimit limit{}; reason == EFBIG && ::getrlimit(RLIMIT_FSIZE, &limit) == 0) {
      error.message = fmt::format("cannot {}: the file size limit is {} KiB", action, limit.rlim_cur >> 10);
      error.hint = "ulimit -f unlimited";
    }
    if (lock_ >= 0) ::unlinkat(folder_, lock_name, 0);
    if (!path_.empty()) ::rmdir(path_.c_str());
    if (lock_ >= 0) ::close(lock_);
    if (folder_ >= 0) ::close(folder_);
    throw Failure(std::move(error));
  };
  std::string made = base + "/" + directory_prefix + "XXXXXX";
  if (!::mkdtemp(made.data())) fail("make a directory");
  path_ = made;
  folder_ = open_directory(AT_FDCWD, path_);
  if (folder_ < 0) fail("open a directory");
  lock_ = ::openat(folder_, lock_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_ < 0) fail("make a file");
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) fail("lock a file");
  const std::string marker = marker_of(folder_, path_);
  if (marker.empty() || ::write(lock_, marker.data(), marker.size()) != std::ssize(marker)) fail("write a file");
}

SessionDirectory::~SessionDirectory() {
  remove_directory(folder_, lock_, path_);
  ::close(lock_);
  ::close(folder_);
}

}  // namespace shardscope
