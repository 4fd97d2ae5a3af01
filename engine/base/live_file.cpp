#include "engine/base/live_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "engine/base/plural.h"
#include "engine/base/standard_streams.h"

namespace shardscope {

namespace {

int64_t size_of(std::FILE* file) {
  struct stat there {};
  return ::fstat(::fileno(file), &there) == 0 ? there.st_size : 0;
}

bool is_regular(const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && S_ISREG(there.st_mode);
}

bool is_nothing(const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) != 0;
}

bool has_no_links(int error) { return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK; }

void rename_new(const std::string& from, const std::string& to, const std::string& reported) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EINVAL && is_nothing(to) && ::rename(from.c_str(), to.c_str()) == 0) return;
  fail_to_write(reported, errno);
}

// With the path that a person gave, where it fails.
template <class Call>
auto reported_at(const std::string& path, Call call) {
  try {
    return call();
  } catch (const Failure& failure) {
    std::vector<Error> errors = failure.errors();
    for (Error& error : errors) error.place = in_file(path);
    throw Failure(std::move(errors));
  }
}

}  // namespace

void replace_keeping(const std::string& part, const std::string& path, const std::string& kept) {
  if (::link(path.c_str(), kept.c_str()) != 0) {
    if (!has_no_links(errno)) fail_to_write(path, errno);
    rename_new(path, kept, path);
  }
  if (::rename(part.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  if (is_nothing(path)) ::rename(kept.c_str(), path.c_str());
  else ::unlink(kept.c_str());
  fail_to_write(path, error);
}

LiveFile::LiveFile(std::string path, Existing existing, const std::vector<std::string>& inputs, const HeldFolder* in)
    : path_(std::move(path)), name_(in ? in->system_path_of(std::filesystem::path(path_).filename().string()) : path_) {
  const bool is_file = path_ != standard_stream;
  is_new_ = is_file && is_nothing(name_);
  const auto open = [&](const std::string& name, Existing how) {
    if (!in) return open_output(name, how, inputs);
    return reported_at(path_, [&] { return open_output(name, how, inputs); });
  };
  if (is_file && existing == Existing::overwrite && is_regular(name_)) {
    before_ = open(name_, Existing::append);
    const std::string part = free_name(WholeFile::part_of(name_));
    file_ = open(part, Existing::refuse);
    part_ = part;
    is_new_ = true;
  } else {
    file_ = open(name_, is_new_ ? Existing::refuse : existing);
  }
  struct stat there {};
  const int descriptor = ::fileno(file_.get());
  if (is_file && ::fstat(descriptor, &there) == 0 && S_ISREG(there.st_mode)) ::fcntl(descriptor, F_SETFL, O_APPEND);
  bytes_ = size_of(file_.get());
}

LiveFile::~LiveFile() {
  if (is_new_ && !has_begun_ && !is_stream(name_)) remove_if_same(file_.get(), own_name());
}

void LiveFile::begin(const std::string& kept) {
  if (!part_.empty()) {
    const std::string name = kept.empty() ? free_name(path_ + ".old") : kept;
    reported_at(path_, [&] { replace_keeping(part_, name_, name); });
    part_.clear();
    kept_ = name;
  } else if (!is_new_ && path_ != standard_stream) {
    has_ended_cut_line_ = end_cut_line(file_.get(), path_);
    if (std::fflush(file_.get()) != 0) fail_to_write(path_, errno);
    bytes_ = size_of(file_.get());
  }
  has_begun_ = true;
}

void LiveFile::undo() {
  if (!has_begun_) return;
  if (!kept_.empty()) {
    const bool are_in_place = is_name_of(before_.get(), kept_) && is_name_of(file_.get(), name_);
    if (!are_in_place || ::rename(kept_.c_str(), name_.c_str()) != 0) return;
    kept_.clear();
  }
  has_begun_ = false;
}

void LiveFile::complete() {
  if (kept_.empty() || (::fsync(::fileno(file_.get())) != 0 && errno != EINVAL)) return;
  remove_if_same(before_.get(), kept_);
  kept_.clear();
}

int LiveFile::put(std::string_view text) {
  const bool is_put = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (!is_put || std::fflush(file_.get()) != 0) return errno;
  bytes_ += std::ssize(text);
  return 0;
}

std::optional<Error> LiveFile::loss() const {
  struct stat there {};
  if (::fstat(::fileno(file_.get()), &there) != 0 || !S_ISREG(there.st_mode)) return std::nullopt;
  if (there.st_nlink == 0) {
    return Error{"unwritable_file", "somebody has removed this file since the run began; what was in it is lost",
                 in_file(path_), ""};
  }
  if (there.st_size >= bytes_) return std::nullopt;
  return Error{"unwritable_file",
               fmt::format("somebody has truncated this file since the run began; {} of it {} lost",
                           counted(bytes_ - there.st_size, "byte"), plural(bytes_ - there.st_size, "is", "are")),
               in_file(path_), "rotate it by renaming it (logrotate: nocopytruncate)"};
}

}  // namespace shardscope
