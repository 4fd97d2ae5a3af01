#include "engine/checkpoint/block_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/hash.h"

namespace shardscope {

namespace {

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw Failure(Error{"damaged_checkpoint", what, in_file(path), ""});
}

[[noreturn]] void unreadable(const std::string& path) {
  throw Failure(
      Error{"unreadable_checkpoint", fmt::format("cannot read: {}", std::strerror(errno)), in_file(path), ""});
}

}  // namespace

BlockFile::BlockFile(const std::string& folder, const CheckpointFile& file, Contents contents)
    : path_(folder + "/" + file.name),
      file_(file),
      contents_(std::move(contents)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0 && errno == ENOENT) damaged(path_, "the file is missing");
  if (descriptor_ < 0) unreadable(path_);
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (known && status.st_size == file.bytes) return;
  ::close(descriptor_);
  if (!known) unreadable(path_);
  damaged(path_, fmt::format("the file has {} bytes instead of {}", status.st_size, file.bytes));
}

BlockFile::~BlockFile() { ::close(descriptor_); }

void BlockFile::read(int64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const std::span<const std::byte> from =
        block(offset / checkpoint_block_bytes).subspan(static_cast<size_t>(offset % checkpoint_block_bytes));
    const size_t bytes = std::min(from.size(), out.size());
    std::memcpy(out.data(), from.data(), bytes);
    out = out.subspan(bytes);
    offset += static_cast<int64_t>(bytes);
  }
}

void BlockFile::check(int64_t offset, int64_t bytes) {
  const int64_t end = (offset + bytes + checkpoint_block_bytes - 1) / checkpoint_block_bytes;
  for (int64_t number = offset / checkpoint_block_bytes; bytes > 0 && number < end; ++number) block(number);
}

std::span<const std::byte> BlockFile::block(int64_t number) {
  if (held_ == number) return bytes_;
  if (number >= std::ssize(file_.blocks)) damaged(path_, "the index speaks of more than is in the file");
  held_ = -1;
  const int64_t begin = number * checkpoint_block_bytes;
  bytes_.resize(static_cast<size_t>(std::min(checkpoint_block_bytes, file_.bytes - begin)));
  for (size_t got = 0; got < bytes_.size();) {
    const ssize_t more =
        ::pread(descriptor_, bytes_.data() + got, bytes_.size() - got, begin + static_cast<int64_t>(got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) unreadable(path_);
    if (more == 0) damaged(path_, "the file is shorter than it was");
    got += static_cast<size_t>(more);
  }
  if (hash_bytes(bytes_) != file_.blocks[static_cast<size_t>(number)]) {
    damaged(path_, fmt::format("block {} of {} ({}) is not what was written: its hash differs", number + 1,
                               file_.blocks.size(), contents_(begin, begin + static_cast<int64_t>(bytes_.size()))));
  }
  held_ = number;
  return bytes_;
}

}  // namespace shardscope
