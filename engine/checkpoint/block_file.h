#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/input_file.h"
#include "engine/checkpoint/checkpoint_index.h"

namespace shardscope {

// A file of a checkpoint, read by its blocks, each compared with its hash before a byte of it is used. Holds one block
// at a time.
class BlockFile {
 public:
  // What is in bytes [begin, end) of the file, in words.
  using Contents = std::function<std::string(int64_t begin, int64_t end)>;

  // Throws Failure damaged_checkpoint where the file is missing or not as long as it was; unreadable_checkpoint, also
  // of what is no regular file.
  BlockFile(const std::string& folder, const CheckpointFile& file, Contents contents);
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  // Bytes [offset, offset + out.size()). Throws Failure damaged_checkpoint, which names file, block and what is in
  // it.
  void read(int64_t offset, std::span<std::byte> out);
  // Compares the blocks in which these bytes lie.
  void check(int64_t offset, int64_t bytes);

 private:
  std::span<const std::byte> block(int64_t number);

  const CheckpointFile& file_;
  Contents contents_;
  InputFile input_;
  std::vector<std::byte> bytes_;
  int64_t held_ = -1;  // the block in bytes_
};

}  // namespace shardscope
