#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_index.h"

namespace shardscope {

// A file of a checkpoint, read by its blocks, each compared with its hash before a byte of it is used. Holds one block
// at a time.
class BlockFile {
 public:
  // Throws Failure damaged_checkpoint where the file is missing or not as long as it was; unreadable_checkpoint.
  BlockFile(const std::string& folder, const CheckpointFile& file);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  // Bytes [offset, offset + out.size()). `what` is what lies there ("params/Dense_0/kernel"), for the error that names
  // file, block and it: Failure damaged_checkpoint.
  void read(int64_t offset, std::span<std::byte> out, const std::string& what);
  // Compares the blocks in which these bytes lie.
  void check(int64_t offset, int64_t bytes, const std::string& what);

 private:
  std::span<const std::byte> block(int64_t number, const std::string& what);

  std::string path_;
  const CheckpointFile& file_;
  int descriptor_ = -1;
  std::vector<std::byte> bytes_;
  int64_t held_ = -1;  // the block in bytes_
};

}  // namespace shardscope
