#include "engine/data/data_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/plural.h"

namespace shardscope {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& code, const std::string& what,
                       const std::string& hint) {
  throw Failure(Error{code, what, in_file(path), hint});
}

struct stat status_of(const InputFile& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) == 0) return status;
  fail(file.path(), "unreadable_file", fmt::format("cannot read: {}", std::strerror(errno)), "");
}

void require_length(const InputFile& file, int64_t bytes) {
  const int64_t now = status_of(file).st_size;
  if (now >= bytes) return;
  fail(file.path(), "changed_data", fmt::format("it had {} when the run began and has {}", counted(bytes, "byte"), now),
       "data stay as they are while a run reads them");
}

}  // namespace

size_t DataFiles::add(const std::string& path, int64_t bytes) {
  files_.push_back({path, bytes, 0, 0, 0, nullptr});
  open(files_.size() - 1);
  return files_.size() - 1;
}

void DataFiles::open(size_t number) const {
  if (opened_.size() == most_open) {
    files_[opened_.front()].opened.reset();
    opened_.pop_front();
  }
  File& file = files_[number];
  auto opened = std::make_unique<InputFile>(file.path);
  const struct stat status = status_of(*opened);
  if (file.inode != 0 && (status.st_dev != file.device || status.st_ino != file.inode)) {
    fail(file.path, "changed_data", "it is another file than when the run began",
         "data stay as they are while a run reads them");
  }
  require_length(*opened, file.bytes);
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.opened = std::move(opened);
  opened_.push_back(number);
}

void DataFiles::read(size_t number, int64_t offset, std::span<std::byte> out) const {
  if (!files_[number].opened) open(number);
  File& file = files_[number];
  if (std::exchange(file.seen_in, step_) != step_) require_length(*file.opened, file.bytes);
  try {
    file.opened->read(offset, out);
  } catch (const Failure&) {
    require_length(*file.opened, file.bytes);  // cut short in between
    throw;
  }
}

}  // namespace shardscope
