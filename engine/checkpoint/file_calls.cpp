#include "engine/checkpoint/file_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
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
  if (error == ELOOP || error == ENOTDIR) return "something else is in its place; links are not followed";
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

void FileCalls::make_folder(const HeldFolder& in, const std::string& name) const {
  ask("mkdir", in.path_of(name));
  if (::mkdirat(in.descriptor(), name.c_str(), 0777) != 0 && errno != EEXIST) fail("mkdir", in.path_of(name), errno);
}

HeldFolder FileCalls::open_folder(const HeldFolder& in, const std::string& name) const {
  ask("open", in.path_of(name));
  const int descriptor = ::openat(in.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) fail("open", in.path_of(name), errno);
  return {descriptor, in.path_of(name), "unwritable_checkpoint"};
}

// A file that is there may have other names, and what it is under these is not ours.
int FileCalls::create(const HeldFolder& in, const std::string& name) const {
  const auto open_new = [&] {
    ask("open", in.path_of(name));
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    return ::openat(in.descriptor(), name.c_str(), flags, 0666);
  };
  int descriptor = open_new();
  if (descriptor < 0 && errno == EEXIST) {
    unlink(in, name);
    descriptor = open_new();
  }
  if (descriptor < 0) fail("open", in.path_of(name), errno);
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
void FileCalls::sync_folder(const HeldFolder& folder) const {
  ask("fsync", folder.path());
  if (::fsync(folder.descriptor()) != 0 && errno != EINVAL) fail("fsync", folder.path(), errno);
}

void FileCalls::rename(const HeldFolder& in, const std::string& from, const std::string& to) const {
  ask("rename", in.path_of(from));
  const int folder = in.descriptor();
  if (::renameat(folder, from.c_str(), folder, to.c_str()) != 0) fail("rename", in.path_of(from), errno);
}

void FileCalls::unlink(const HeldFolder& in, const std::string& name) const {
  ask("unlink", in.path_of(name));
  if (::unlinkat(in.descriptor(), name.c_str(), 0) != 0 && errno != ENOENT) fail("unlink", in.path_of(name), errno);
}

bool FileCalls::remove_empty_folder(const HeldFolder& in, const std::string& name) const {
  ask("rmdir", in.path_of(name));
  if (::unlinkat(in.descriptor(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno == ENOTEMPTY || errno == EEXIST) return false;
  fail("rmdir", in.path_of(name), errno);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFile::finish() {
  sync();
  calls_.close(std::exchange(descriptor_, -1), path_);
}

}  // namespace shardscope
