#include "engine/checkpoint/held_folder.h"

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

[[noreturn]] void fail_to_hold(const std::string& path, int error) {
  throw Failure(Error{"unwritable_checkpoint", fmt::format("cannot open the folder: {}", std::strerror(error)),
                      in_file(path), "name a folder that can be read and written, on every host that writes to it"});
}

FolderIdentity identity_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// Where the system says that the folder is now; nothing where that is not so.
std::optional<std::string> present_path(int descriptor, const FolderIdentity& identity) {
  std::error_code error;
  const std::string path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), error);
  struct stat there {};
  if (error || ::stat(path.c_str(), &there) != 0 || identity_of(there) != identity) return std::nullopt;
  return path;
}

}  // namespace

HeldFolder::HeldFolder(std::string path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path_(std::move(path)) {
  if (descriptor_ < 0) fail_to_hold(path_, errno);
}

HeldFolder::HeldFolder(HeldFolder&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

HeldFolder::~HeldFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FolderIdentity HeldFolder::identity() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_to_hold(path_, errno);
  return identity_of(status);
}

std::vector<std::string> HeldFolder::names() const {
  const int own = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // with a place of its own to read at
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(own < 0 ? nullptr : ::fdopendir(own), &::closedir);
  if (!entries) {
    const int error = errno;
    if (own >= 0) ::close(own);
    fail_to_hold(path_, error);
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (!entry && errno != 0) fail_to_hold(path_, errno);
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

void HeldFolder::require_in_place() const {
  struct stat held {
  }, there{};
  const bool exists = ::fstat(descriptor_, &held) == 0 && held.st_nlink > 0;
  const bool is_there = ::stat(path_.c_str(), &there) == 0;
  if (exists && is_there && identity_of(held) == identity_of(there)) return;
  const std::optional<std::string> now = exists ? present_path(descriptor_, identity_of(held)) : std::nullopt;
  const std::string what = now      ? "moved to " + *now
                           : exists ? "moved to a place that this host cannot name"
                                    : "removed";
  const std::string other = is_there ? ", and another is in its place, into which nothing was written" : "";
  const std::string hint = now      ? fmt::format("move it back, or go on with --checkpoint {0} --resume {0}", *now)
                           : exists ? "move it back, or name it where it is now"
                                    : "begin again, in a folder that stays";
  throw Failure(Error{"checkpoint_folder_moved", fmt::format("since the run began this folder was {}{}", what, other),
                      in_file(path_), hint});
}

}  // namespace shardscope
