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
  throw Failure(Error{code, what, path, hint});
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
      fail("output_is_input", path, fmt::format("writing here would destroy '{}', which is read", input),
           "another name");
    }
  }
  if (S_ISLNK(link.st_mode) && !(reachable && S_ISCHR(file.st_mode)) && !(reachable && S_ISFIFO(file.st_mode))) {
    fail("file_exists", path, "this is a symbolic link; it is not followed", "the name of the file itself");
  }
  if (existing == Existing::refuse && reachable && S_ISREG(file.st_mode)) {
    fail("file_exists", path, "the file exists",
         "another name, --append to add to it, or --force to lose what is in it");
  }
}

// Above those of standard input, output and error, which may be closed.
int above_standard_streams(int descriptor) {
  if (descriptor > STDERR_FILENO) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(descriptor);
  return moved;
}

}  // namespace

OutputFile open_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs) {
  check_existing(path, existing, inputs);
  const int when_there = existing == Existing::append ? O_APPEND : existing == Existing::overwrite ? O_TRUNC : 0;
  const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | when_there, 0666);
  const int descriptor = opened < 0 ? opened : above_standard_streams(opened);
  OutputFile file(descriptor < 0 ? nullptr : ::fdopen(descriptor, existing == Existing::append ? "ae" : "we"));
  if (!file) fail("unwritable_file", path, fmt::format("cannot write: {}", std::strerror(errno)), "");
  return file;
}

}  // namespace shardscope
