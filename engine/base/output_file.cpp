#include "engine/base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "engine/base/standard_streams.h"

namespace shardscope {
namespace {

[[noreturn]] void fail(const char* code, const std::string& path, const std::string& what, const std::string& hint) {
  throw Failure(Error{code, what, in_file(path), hint});
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// Gone with this where the file is still at the path.
struct Removed {
  std::FILE* file;
  std::string path;
  ~Removed() { remove_if_same(file, path); }
};

// By which a file is known, and stays locked, when the other is closed.
OutputFile duplicate(const OutputFile& file) {
  return OutputFile(::fdopen(::fcntl(::fileno(file.get()), F_DUPFD_CLOEXEC, 0), "we"));
}

// Gives a file a name that nothing has; false with errno. Linked where the file system has no such call: a link never
// takes the place of a file.
bool name_new(const std::string& part, const std::string& path) {
  if (::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL || ::link(part.c_str(), path.c_str()) != 0) return false;
  ::unlink(part.c_str());
  return true;
}

// Gives the flags with which open() meets no other file than the one that was looked at.
int check_existing(const std::string& path, Existing existing, const std::vector<std::string>& inputs) {
  if (path == standard_stream) return 0;
  struct stat link {};
  if (::lstat(path.c_str(), &link) != 0) return O_CREAT | O_EXCL;  // open() says why where that is a fault
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
  return S_ISLNK(link.st_mode) ? 0 : O_NOFOLLOW;
}

// Of two runs that write to one file, only the first may; a file that was renamed between open() and flock() is another
// run's. `reported`: the path that a person gave.
void lock_regular(int descriptor, const std::string& path, const std::string& reported) {
  struct stat file {
  }, named{};
  if (::fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return;
  const bool is_locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const bool is_there = ::lstat(path.c_str(), &named) == 0;
  if (!is_locked && is_there && is_same_file(file, named)) return;
  ::close(descriptor);
  if (!is_locked && !is_there) fail("unwritable_file", reported, "somebody has removed this file", "begin again");
  fail("file_exists", reported, "another run is writing it", "another name");
}

// Above those of standard input, output and error, which may be closed.
int above_standard_streams(int descriptor) {
  if (descriptor > STDERR_FILENO) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(descriptor);
  return moved;
}

// Else another run is writing it. Whatever has taken its place is not waited for.
void require_unlocked(const std::string& path, const std::string& reported) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0 && errno != ELOOP && errno != ENXIO) fail_to_write(reported, errno);
  if (descriptor < 0) return;
  lock_regular(descriptor, path, reported);
  ::close(descriptor);
}

// `reported`: the path that a person gave.
OutputFile open_as(const std::string& path, const std::string& reported, Existing existing,
                   const std::vector<std::string>& inputs) {
  const bool adds = existing == Existing::append;
  const int flags = check_existing(path, existing, inputs) | (adds ? O_APPEND : 0);
  const int opened = path == standard_stream ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                             : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  const int descriptor = opened < 0 ? opened : above_standard_streams(opened);
  if (descriptor < 0) fail_to_write(reported, errno);
  const bool is_file = path != standard_stream;
  if (is_file) lock_regular(descriptor, path, reported);
  if (is_file && existing == Existing::overwrite && ::ftruncate(descriptor, 0) != 0 && errno != EINVAL) {
    const int error = errno;
    ::close(descriptor);
    fail_to_write(reported, error);
  }
  OutputFile file(::fdopen(descriptor, adds ? "ae" : "we"));
  if (!file) fail_to_write(reported, errno);
  return file;
}

}  // namespace

std::string free_name(const std::string& name) {
  std::string found = name;
  struct stat there {};
  for (int number = 2; ::lstat(found.c_str(), &there) == 0; ++number) found = fmt::format("{}.{}", name, number);
  return found;
}

bool is_name_of(std::FILE* file, const std::string& path) {
  struct stat own {
  }, named{};
  return file && ::fstat(::fileno(file), &own) == 0 && ::lstat(path.c_str(), &named) == 0 && is_same_file(own, named);
}

void remove_if_same(std::FILE* file, const std::string& path) {
  if (is_name_of(file, path)) ::unlink(path.c_str());
}

void fail_to_write(const std::string& path, int error) {
  fail("unwritable_file", path, fmt::format("cannot write: {}", std::strerror(error)), "");
}

void put(std::FILE* file, std::string_view text, const std::string& path) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) fail_to_write(path, errno);
}

void close_file(OutputFile file, const std::string& path) {
  if (std::fclose(file.release()) != 0) fail_to_write(path, errno);
}

void write_new_file(const std::string& path, std::string_view text) {
  if (is_stream(path)) {
    OutputFile stream = open_output(path, Existing::refuse, {});
    put(stream.get(), text, path);
    return close_file(std::move(stream), path);
  }
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) fail("file_exists", path, "this exists", "another name");
  const std::string part = free_name(WholeFile::part_of(path));
  OutputFile file = open_as(part, path, Existing::refuse, {});
  const OutputFile own = duplicate(file);
  if (!own) {
    const int error = errno;
    remove_if_same(file.get(), part);
    fail_to_write(path, error);
  }
  const Removed removed{own.get(), part};
  put(file.get(), text, path);
  close_file(std::move(file), path);
  if (name_new(part, path)) return;
  if (errno == EEXIST) fail("file_exists", path, "the file has come to be meanwhile", "another name");
  fail_to_write(path, errno);
}

WholeFile::WholeFile(std::string path, Existing existing, const std::vector<std::string>& inputs, int64_t bytes)
    : path_(std::move(path)) {
  if (path_ == standard_stream)
    fail("unwritable_file", path_, "this is written in pieces in any order, which standard output does not take",
         "the name of a new file");
  check_existing(path_, existing, inputs);
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    fail("unwritable_file", path_, "this is no regular file", "the name of a new file");
  }
  replaces_ = existing != Existing::refuse;
  const std::string part = part_of(path_);
  if (replaces_) aside_ = std::make_unique<SetAside>(part, path_);
  file_ = open_as(part, path_, Existing::refuse, {});
  part_ = part;
  if (const int error = bytes > 0 ? ::posix_fallocate(::fileno(file_.get()), 0, bytes) : 0; error != 0) {
    remove_if_same(file_.get(), part_);
    fail_to_write(path_, error);
  }
}

WholeFile::~WholeFile() {
  if (!part_.empty()) remove_if_same(file_.get(), part_);
}

WholeFile::SetAside::SetAside(const std::string& part, const std::string& path) {
  struct stat there {};
  if (::lstat(part.c_str(), &there) != 0) return;
  if (S_ISREG(there.st_mode)) require_unlocked(part, path);
  const std::string name = free_name(part);
  if (std::rename(part.c_str(), name.c_str()) != 0) fail_to_write(path, errno);
  from = part;
  to = name;
}

WholeFile::SetAside::~SetAside() {
  if (!to.empty()) ::renameat2(AT_FDCWD, to.c_str(), AT_FDCWD, from.c_str(), RENAME_NOREPLACE);
}

void WholeFile::keep() {
  // Locked until it has its name, and known by its inode where it cannot get it.
  OutputFile written = std::exchange(file_, duplicate(file_));
  close_file(std::move(written), path_);
  const std::string part = part_;
  if (!is_name_of(file_.get(), part)) {
    fail("unwritable_file", path_, fmt::format("somebody has removed or replaced '{}', which was written", part),
         "begin again");
  }
  const bool is_renamed = replaces_ ? std::rename(part.c_str(), path_.c_str()) == 0 : name_new(part, path_);
  const int error = errno;
  if (is_renamed || error == EEXIST) part_.clear();
  if (is_renamed) return file_.reset();
  if (error == EEXIST)
    fail("file_exists", path_, "the file has come to be meanwhile", "what was written is in " + part);
  fail_to_write(path_, error);
}

bool is_stream(const std::string& path) {
  struct stat there {};
  if (path == standard_stream) return true;
  return ::stat(path.c_str(), &there) == 0 && (S_ISCHR(there.st_mode) || S_ISFIFO(there.st_mode));
}

void check_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs) {
  check_existing(path, existing, inputs);
}

std::filesystem::path true_path(const std::string& path) {
  std::error_code fault;
  const std::filesystem::path absolute = std::filesystem::absolute(path, fault),
                              whole = std::filesystem::weakly_canonical(absolute, fault);
  return fault ? std::filesystem::path(path) : whole;
}

void require_different(const std::vector<std::string>& outputs) {
  std::set<std::filesystem::path> known;
  for (const std::string& output : outputs) {
    if ((output != standard_stream && is_stream(output)) || known.insert(true_path(output)).second) continue;
    fail("output_twice", output, "two outputs of this call would be written here", "another name for one of them");
  }
}

void check_late_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs) {
  check_output(path, existing, inputs);
  if (is_stream(path)) return;
  const std::string::size_type slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail_to_write(path, errno);
}

OutputFile open_output(const std::string& path, Existing existing, const std::vector<std::string>& inputs) {
  return open_as(path, path, existing, inputs);
}

bool end_cut_line(std::FILE* file, const std::string& path) {
  struct stat there {};
  if (::fstat(::fileno(file), &there) != 0 || !S_ISREG(there.st_mode) || there.st_size == 0) return false;
  const OutputFile same(std::fopen(fmt::format("/proc/self/fd/{}", ::fileno(file)).c_str(), "re"));
  char last = '\n';  // also of a file that may be written, but not read
  if (!same || ::pread(::fileno(same.get()), &last, 1, there.st_size - 1) != 1 || last == '\n') return false;
  put(file, "\n", path);
  return true;
}

}  // namespace shardscope
