#include "engine/checkpoint/block_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/plural.h"

namespace shardscope {

namespace {

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw Failure(Error{"damaged_checkpoint", what, in_file(path), ""});
}

InputFile open_block_file(const std::string& path) {
  std::optional<InputFile> file = InputFile::find(path, "unreadable_checkpoint");
  if (!file) damaged(path, "the file is missing");
  return std::move(*file);
}

}  // namespace

BlockFile::BlockFile(const std::string& folder, const CheckpointFile& file, Contents contents)
    : file_(file), contents_(std::move(contents)), input_(open_block_file(folder + "/" + file.name)) {
  if (input_.bytes() == file.bytes) return;
  damaged(input_.path(), fmt::format("the file has {} instead of {}", counted(input_.bytes(), "byte"), file.bytes));
}

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
  if (number >= std::ssize(file_.blocks)) damaged(input_.path(), "the index speaks of more than is in the file");
  held_ = -1;
  const int64_t begin = number * checkpoint_block_bytes;
  bytes_.resize(static_cast<size_t>(std::min(checkpoint_block_bytes, file_.bytes - begin)));
  input_.read(begin, bytes_);
  if (hash_bytes(bytes_) != file_.blocks[static_cast<size_t>(number)]) {
    damaged(input_.path(),
            fmt::format("block {} of {} ({}) is not what was written: its hash differs", number + 1,
                        file_.blocks.size(), contents_(begin, begin + static_cast<int64_t>(bytes_.size()))));
  }
  held_ = number;
  return bytes_;
}

}  // namespace shardscope
