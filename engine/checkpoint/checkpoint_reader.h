#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/block_file.h"
#include "engine/checkpoint/checkpoint_index.h"

namespace shardscope {

// A checkpoint, whatever mesh it was written on. What is read is compared with its hashes first, and nothing else is
// read: of each file the header and the blocks that hold something that is asked for.
class CheckpointReader {
 public:
  // Reads the index; every file must be there and as long as it was. `path` is DIR/step_000120. Throws Failure:
  // no_checkpoint, also from the calls below where it has been removed meanwhile; damaged_checkpoint;
  // unreadable_checkpoint.
  explicit CheckpointReader(std::string path);

  const std::string& path() const { return path_; }
  const CheckpointIndex& index() const { return index_; }

  struct Request {
    const CheckpointState* state = nullptr;  // of this index
    Box box;                                 // of the whole array
    std::span<std::byte> out;                // row-major
  };
  // Throws Failure damaged_checkpoint, which names file, state and block; what was asked for is then partly written.
  void read(std::span<const Request> requests);
  // Compares everything. Throws Failure likewise.
  void verify();

 private:
  void open(int file);
  void read_pieces(std::span<const Request> requests);
  void check_pieces();
  std::string contents(int file, int64_t begin, int64_t end) const;

  std::string path_;
  CheckpointIndex index_;
  int opened_ = -1;
  std::unique_ptr<BlockFile> file_;
};

}  // namespace shardscope
