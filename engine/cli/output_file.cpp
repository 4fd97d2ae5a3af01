#include "engine/cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/base/error.h"

namespace shardscope {
namespace {

[[noreturn]] void fail(const char* code, const std::string& path, const std::string& what, const std::string& hint) {
  throw Failure(Error{code, what, in_file(path), hint});
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

void check_existing(const std::string& path, Existing existing, const std::vector<std::string>& inputs) {
  struct stat link {};
  if (::lstat(path.c_str(), &link) != 0) return;  // open() says why where that is a fault
  struct stat file {};
  const bool reachable = ::stat(path.c_str(), &file) == 0;
  for (const std::string& input : inputs) {
    struct stat read {};
    if (reachable && ::stat(input.c_str(), &read) == 0 && is_same_file(file, read)) {
      fail("output_is_input", path, fmt::format("writing here would destroy '{}', which the run uses, too", input),
           "another name");
    }
  }
  if (S_ISLNK(link.st_mode) && !(reachable && S_ISCHR(file.st_mode)) && !(reachable && S_ISFIFO(file.st_mode))) {
    fail("file_exists", path, "this is a symbolic link; it is not followed", "the name of the file itself");
  }
  if (existing == Existing::refuse && reachable && S_ISREG(file.st_mode)) {
    fail("file_exists", path, "the file exists",
         "another name, or --force to lose what is in it; a --jsonl file can be added to with --append");
  }
}

// Above those of standard input, output and error, which may be closed.
int above_standard_streams(int descriptor) {
  if (descriptor > STDERR_FILENO) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(descriptor);
  return moved;
}

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  fail("unwritable_file", path, fmt::format("cannot write: {}", std::strerror(error)), "");
}

}  // namespace

WholeFile::WholeFile(std::string path, Existing existing, const std::vector<std::string>& inputs, int64_t bytes)
    : path_(std::move(path)) {
  check_existing(path_, existing, inputs);
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    fail("unwritable_file", path_, "this is no regular file", "the name of a new file");
  }
  const std::string part = part_of(path_);
  const OutputFile file = open_output(part, existing, inputs);
  part_ = part;
  if (const int error = ::posix_fallocate(::fileno(file.get()), 0, bytes); error != 0) {
    ::unlink(part_.c_str());
    fail_to_write(path_, error);
  }
}

WholeFile::~WholeFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

void WholeFile::keep() {
  if (std::rename(part_.c_str(), path_.c_str()) != 0) fail_to_write(path_, errno);
  part_.clear();
}

OutputFile open_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs) {
  check_existing(path, existing, inputs);
  const int when_there = existing == Existing::append ? O_APPEND : existing == Existing::overwrite ? O_TRUNC : 0;
  const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | when_there, 0666);
  const int descriptor = opened < 0 ? opened : above_standard_streams(opened);
  OutputFile file(descriptor < 0 ? nullptr : ::fdopen(descriptor, existing == Existing::append ? "ae" : "we"));
  if (!file) fail_to_write(path, errno);
  return file;
}

}  // namespace shardscope
