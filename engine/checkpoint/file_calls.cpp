#include "engine/checkpoint/file_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr std::string_view purpose(std::string_view call) {
  if (call == "unlink" || call == "rmdir") return "cannot remove";
  return call == "rename" ? "cannot rename" : "cannot write";
}

std::string_view hint(int error) {
  if (error == ENOSPC || error == EDQUOT) return "free some space on that disk, or keep fewer with --keep";
  if (error == EROFS || error == EACCES || error == EPERM) return "name a folder that can be written to";
  return "";
}

bool end_direct_writing(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return (flags & O_DIRECT) != 0 && ::fcntl(descriptor, F_SETFL, flags & ~O_DIRECT) == 0;
}

[[noreturn]] void fail(std::string_view call, const std::string& path, int error) {
  throw Failure(Error{"unwritable_checkpoint", fmt::format("{}: {}", purpose(call), std::strerror(error)),
                      in_file(path), std::string(hint(error))});
}

}  // namespace

void FileCalls::ask(std::string_view call, const std::string& path) const {
  if (!before_) return;
  if (const int error = before_(call, path); error != 0) fail(call, path, error);
}

void FileCalls::make_folder(const std::string& path) const {
  ask("mkdir", path);
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) fail("mkdir", path, errno);
}

int FileCalls::create(const std::string& path) const {
  ask("open", path);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) fail("open", path, errno);
  ::fcntl(descriptor, F_SETFL, O_DIRECT);  // not every file system can
  return descriptor;
}

void FileCalls::write(int descriptor, const std::string& path, int64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    ask("write", path);
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0 && (errno == EINTR || (errno == EINVAL && end_direct_writing(descriptor)))) continue;
    if (written < 0) fail("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
}

void FileCalls::sync(int descriptor, const std::string& path) const {
  ask("fsync", path);
  if (::fsync(descriptor) != 0) fail("fsync", path, errno);
}

void FileCalls::close(int descriptor, const std::string& path) const {
  ask("close", path);
  if (::close(descriptor) != 0) fail("close", path, errno);
}

// Some file systems cannot sync a folder, and say so.
void FileCalls::sync_folder(const std::string& path) const {
  ask("fsync", path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail("fsync", path, errno);
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error != 0 && error != EINVAL) fail("fsync", path, error);
}

void FileCalls::rename(const std::string& from, const std::string& to) const {
  ask("rename", from);
  if (std::rename(from.c_str(), to.c_str()) != 0) fail("rename", from, errno);
}

void FileCalls::remove_folder(const std::string& path) const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string file = entry.path().string();
    ask("unlink", file);
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) fail("unlink", file, errno);
  }
  ask("rmdir", path);
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) fail("rmdir", path, errno);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFile::finish() {
  sync();
  calls_.close(std::exchange(descriptor_, -1), path_);
}

}  // namespace shardscope
