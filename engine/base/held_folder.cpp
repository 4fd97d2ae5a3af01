#include "engine/base/held_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

namespace {

[[noreturn]] void fail_to_hold(const std::string& path, const std::string& code, int error) {
  throw Failure(Error{code, fmt::format("cannot open the folder: {}", std::strerror(error)), in_file(path),
                      "name a folder that can be read and written, on every host that writes to it"});
}

FolderIdentity identity_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

}  // namespace

HeldFolder::HeldFolder(std::string path, std::string code)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      path_(std::move(path)),
      code_(std::move(code)) {
  if (descriptor_ < 0) fail_to_hold(path_, code_, errno);
}

HeldFolder::HeldFolder(HeldFolder&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), code_(std::move(other.code_)) {}

HeldFolder::~HeldFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

HeldFolder HeldFolder::folder(const std::string& name) const {
  const int found = ::openat(descriptor_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (found < 0) fail_to_hold(path_of(name), code_, errno);
  return {found, path_of(name), code_};
}

std::string HeldFolder::system_path_of(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", descriptor_, name);
}

FolderIdentity HeldFolder::identity() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_to_hold(path_, code_, errno);
  return identity_of(status);
}

std::vector<std::string> HeldFolder::names() const {
  const int own = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // with a place of its own to read at
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(own < 0 ? nullptr : ::fdopendir(own), &::closedir);
  if (!entries) {
    const int error = errno;
    if (own >= 0) ::close(own);
    fail_to_hold(path_, code_, error);
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (!entry && errno != 0) fail_to_hold(path_, code_, errno);
    if (!entry) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

std::optional<struct stat> HeldFolder::status(const std::string& name) const {
  struct stat status {};
  if (::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return status;
}

std::optional<std::string> HeldFolder::present_path() const {
  std::error_code error;
  const std::string path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor_), error);
  struct stat there {};
  if (error || ::stat(path.c_str(), &there) != 0 || identity_of(there) != identity()) return std::nullopt;
  return path;
}

std::optional<HeldFolder::Displaced> HeldFolder::displaced() const {
  struct stat held {
  }, there{};
  Displaced displaced;
  displaced.exists = ::fstat(descriptor_, &held) == 0 && held.st_nlink > 0;
  const bool is_there = ::stat(path_.c_str(), &there) == 0;
  if (displaced.exists && is_there && identity_of(held) == identity_of(there)) return std::nullopt;
  if (displaced.exists) displaced.now = present_path();
  const std::string what = displaced.now      ? "moved to " + *displaced.now
                           : displaced.exists ? "moved to a place that this host cannot name"
                                              : "removed";
  const std::string other = is_there ? ", and another is in its place, into which nothing was written" : "";
  displaced.what = fmt::format("since the run began this folder was {}{}", what, other);
  return displaced;
}

}  // namespace shardscope
