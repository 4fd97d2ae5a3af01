#include "engine/export/export_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "engine/base/cancelled.h"
#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/path.h"
#include "engine/base/standard_streams.h"
#include "engine/compile/compile.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const char* code, const std::string& path, const std::string& what,
                       const std::string& hint = "") {
  throw Failure(Error{code, what, in_file(path), hint});
}

}  // namespace

ExportTarget::ExportTarget(std::string path, Form form, Options options)
    : path_(std::move(path)), form_(form), options_(std::move(options)) {
  if (form_ == Form::folder && path_ == standard_stream)
    fail("bad_argument", path_, "this export is a folder, and standard output takes a file",
         "the name of a new folder");
  if (form_ == Form::folder) {
    path_ = without_slashes(std::move(path_));
    struct stat there {};
    const bool exists = ::lstat(path_.c_str(), &there) == 0;
    if (exists && !S_ISDIR(there.st_mode)) fail("file_exists", path_, "this is no folder", "another name");
    if (exists && options_.existing == Existing::refuse)
      fail("file_exists", path_, "the folder exists", "another name, or --force to write over the files in it");
    const std::string part = WholeFile::part_of(path_);
    if (::mkdir(part.c_str(), 0777) != 0) {
      if (errno == EEXIST) fail("file_exists", part, "this is in the way", "remove it, or another name");
      fail_to_write(path_, errno);
    }
    part_ = part;
  } else if (is_stream(path_)) {
    stream_ = open_output(path_, options_.existing, options_.inputs);
  } else {
    whole_ = std::make_unique<WholeFile>(path_, options_.existing, options_.inputs, 0);
    part_ = whole_->part();
  }
}

ExportTarget::~ExportTarget() {
  std::error_code ignored;
  if (form_ == Form::folder && !part_.empty()) fs::remove_all(part_, ignored);
}

void ExportTarget::write(std::string_view text) {
  throw_if_cancelled();
  put(whole_ ? whole_->file() : stream_.get(), text, path_);
  bytes_ += std::ssize(text);
}

void ExportTarget::add_file(const std::string& name, std::string_view text, bool is_program) {
  throw_if_cancelled();
  const std::string part = new_file(name);
  OutputFile file(std::fopen(part.c_str(), "we"));
  if (!file) fail_to_write(path_ + "/" + name, errno);
  put(file.get(), text, path_ + "/" + name);
  close_file(std::move(file), path_ + "/" + name);
  std::error_code ignored;
  if (is_program) fs::permissions(part, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add, ignored);
  bytes_ += std::ssize(text);
}

void ExportTarget::add_copy(const std::string& name, const std::string& from, std::pair<double, double> shares) {
  const std::string part = new_file(name);
  OutputFile file(std::fopen(part.c_str(), "we")), source(::fdopen(open_regular(from), "r"));
  if (!file) fail_to_write(path_ + "/" + name, errno);
  if (!source) fail("unreadable_file", from, fmt::format("cannot read: {}", std::strerror(errno)));
  std::error_code fault;
  const double all = static_cast<double>(fs::file_size(from, fault));
  std::array<char, 1 << 16> block;
  double done = 0;
  while (const size_t count = std::fread(block.data(), 1, block.size(), source.get())) {
    done += static_cast<double>(count);
    progress(std::lerp(shares.first, shares.second, std::min(done / all, 1.0)));
    put(file.get(), {block.data(), count}, path_ + "/" + name);
    bytes_ += static_cast<int64_t>(count);
  }
  if (std::ferror(source.get())) fail("unreadable_file", from, "cannot read all of it");
  close_file(std::move(file), path_ + "/" + name);
}

std::string ExportTarget::new_file(const std::string& name) {
  const fs::path part = fs::path(part_) / name;
  std::error_code fault;
  fs::create_directories(part.parent_path(), fault);
  if (fault) fail_to_write(path_ + "/" + name, fault.value());
  names_.push_back(name);
  return part.string();
}

void ExportTarget::progress(double share) {
  throw_if_cancelled();
  const auto now = std::chrono::steady_clock::now();
  if (!options_.on_progress || now - reported_ < options_.report_every) return;
  reported_ = now;
  options_.on_progress(std::clamp(share, 0.0, 1.0));
}

void ExportTarget::throw_if_cancelled() const { throw_if_stopped(options_.stop); }

void ExportTarget::keep() {
  throw_if_cancelled();
  if (form_ == Form::folder) return keep_folder();
  if (!whole_) return close_file(std::move(stream_), path_);
  whole_->keep();
  struct stat written {};
  if (::stat(path_.c_str(), &written) == 0) bytes_ = written.st_size;
}

void ExportTarget::keep_folder() {
  std::error_code fault;
  if (!fs::exists(fs::symlink_status(path_, fault))) {
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail_to_write(path_, errno);
    part_.clear();
    return;
  }
  for (const std::string& name : names_) check_place(name);
  for (const std::string& name : names_) {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path(), fault);
    if (fault) fail_to_write(path_ + "/" + name, fault.value());
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    if (swap_in(names_[i])) continue;
    const int error = errno;
    for (size_t done = i; done > 0; --done) swap_out(names_[done - 1]);
    fail_to_write(path_ + "/" + names_[i], error);
  }
}

// A file of the folder is written over where it is a regular one in folders that are none but links to them.
void ExportTarget::check_place(const std::string& name) const {
  fs::path at = path_;
  std::error_code fault;
  for (const fs::path& folder : fs::path(name).parent_path()) {
    at /= folder;
    const fs::file_status status = fs::symlink_status(at, fault);
    if (fs::exists(status) && !fs::is_directory(status))
      fail("file_exists", at.string(),
           fs::is_symlink(status) ? "this is a symbolic link; it is not followed" : "this is no folder",
           "remove it, or another name");
  }
  const std::string file = path_ + "/" + name;
  check_output(file, Existing::overwrite, options_.inputs);
  const fs::file_status status = fs::symlink_status(file, fault);
  if (fs::exists(status) && !fs::is_regular_file(status))
    fail("file_exists", file, "this is no regular file", "remove it, or another name");
}

// Exchanges the file of that name in the part with the one in the folder, if there is any. False, and errno, where that
// cannot be done.
bool ExportTarget::swap_in(const std::string& name) {
  const std::string from = part_ + "/" + name, to = path_ + "/" + name;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return true;
  return (errno == ENOENT || errno == EINVAL) && std::rename(from.c_str(), to.c_str()) == 0;
}

void ExportTarget::swap_out(const std::string& name) {
  const std::string before = part_ + "/" + name, now = path_ + "/" + name;
  if (::renameat2(AT_FDCWD, before.c_str(), AT_FDCWD, now.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno == ENOENT) std::rename(now.c_str(), before.c_str());
}

}  // namespace shardscope
