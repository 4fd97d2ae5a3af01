#include "engine/base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"

namespace shardscope {

namespace {

constexpr const char* regular_hint = "name a regular file";

[[noreturn]] void fail(const std::string& path, const std::string& code, const std::string& what,
                       const std::string& hint = "") {
  throw Failure(Error{code, what, in_file(path), hint});
}

[[noreturn]] void fail_to_read(const std::string& path, const std::string& code, int error) {
  if (error == ENOENT || error == ENOTDIR) fail(path, code, "there is no such file");
  fail(path, code, fmt::format("cannot read: {}", std::strerror(error)),
       error == EACCES || error == EPERM ? "check its permissions" : "");
}

void require_regular_mode(mode_t mode, const std::string& path, const std::string& code) {
  if (S_ISREG(mode)) return;
  const char* kind = S_ISDIR(mode)    ? "a folder"
                     : S_ISFIFO(mode) ? "a FIFO (a pipe)"
                     : S_ISSOCK(mode) ? "a socket"
                                      : "a device";
  fail(path, code, fmt::format("this is {}, not a regular file", kind), regular_hint);
}

// /dev/stdin, /dev/fd/N, /proc/self/fd/N: who called this program has opened it for reading.
bool names_own_descriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

int open_standard_input(const std::string& code) {
  static std::atomic<bool> is_taken = false;
  struct stat status {};
  const int descriptor = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) fail_to_read(std::string(standard_stream), code, errno);
  if (S_ISREG(status.st_mode) || !is_taken.exchange(true)) return descriptor;
  ::close(descriptor);
  fail(std::string(standard_stream), code, "standard input was read already", "name a file");
}

// Negative where there is no such file.
int open_found(const std::string& path, const std::string& code, bool takes_pipes) {
  if (takes_pipes && path == standard_stream) return open_standard_input(code);
  struct stat status {};
  if (takes_pipes && names_own_descriptor(path) && ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail_to_read(path, code, errno);
    return descriptor;
  }
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return -1;
    fail_to_read(path, code, errno);
  }
  require_regular_mode(status.st_mode, path, code);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return -1;
    fail_to_read(path, code, errno);
  }
  try {
    if (::fstat(descriptor, &status) != 0) fail_to_read(path, code, errno);
    require_regular_mode(status.st_mode, path, code);  // it may have been replaced meanwhile
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  return descriptor;
}

}  // namespace

int open_regular(const std::string& path, const std::string& code) {
  const int descriptor = open_found(path, code, false);
  if (descriptor < 0) fail_to_read(path, code, ENOENT);
  return descriptor;
}

std::optional<InputFile> InputFile::find(const std::string& path, const std::string& code) {
  InputFile file;
  file.path_ = path;
  file.code_ = code;
  file.descriptor_ = open_found(path, code, true);
  if (file.descriptor_ < 0) return std::nullopt;
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) fail_to_read(path, code, errno);
  file.bytes_ = status.st_size;
  file.is_pipe_ = !S_ISREG(status.st_mode);
  return file;
}

InputFile::InputFile(const std::string& path, const std::string& code)
    : InputFile([&] {
        std::optional<InputFile> file = find(path, code);
        if (!file) fail_to_read(path, code, ENOENT);
        return std::move(*file);
      }()) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      code_(std::move(other.code_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_),
      is_pipe_(other.is_pipe_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::require_regular() const {
  if (is_pipe_) fail(path_, code_, "this is read here and there, and a pipe only from its beginning", regular_hint);
}

void InputFile::read(int64_t offset, std::span<std::byte> out) const {
  require_regular();
  while (!out.empty()) {
    const ssize_t more = ::pread(descriptor_, out.data(), out.size(), offset);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) fail_to_read(path_, code_, errno);
    if (more == 0) fail(path_, code_, "the file is shorter than it was");
    out = out.subspan(static_cast<size_t>(more));
    offset += more;
  }
}

std::string InputFile::text(int64_t limit) const {
  constexpr int64_t least = 1 << 14, most = 1 << 20;
  std::string text;
  for (;;) {
    const size_t begin = text.size();
    const auto length = static_cast<size_t>(std::clamp(bytes_ - std::ssize(text) + 1, least, most));
    text.resize(begin + length);
    const ssize_t more = is_pipe_ ? ::read(descriptor_, text.data() + begin, length)
                                  : ::pread(descriptor_, text.data() + begin, length, static_cast<off_t>(begin));
    if (more < 0 && errno != EINTR) fail_to_read(path_, code_, errno);
    text.resize(begin + static_cast<size_t>(std::max<ssize_t>(more, 0)));
    if (more == 0) return text;
    if (std::ssize(text) > limit) {
      fail(path_, code_, fmt::format("the file is too large: {} bytes", std::max<int64_t>(bytes_, std::ssize(text))),
           fmt::format("at most {} bytes", limit));
    }
  }
}

std::string read_text(const std::string& path, int64_t limit, const std::string& code) {
  return InputFile(path, code).text(limit);
}

}  // namespace shardscope
