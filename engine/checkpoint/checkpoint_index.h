#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/data_identity.h"
#include "engine/base/shape.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// A checkpoint is a folder, DIR/step_000120: a safetensors file of each rank that has something to write, and
// index.json, which says what is where. Nothing in it depends on a plan: it can be restored on any mesh.
inline constexpr const char* index_file_name = "index.json";

// Files are hashed by blocks of so many bytes (the last one may be shorter), from their first byte to their last.
inline constexpr int64_t checkpoint_block_bytes = int64_t{1} << 20;

struct CheckpointFile {
  std::string name;  // "rank_00003.safetensors"
  int rank = 0;      // that wrote it
  int64_t bytes = 0;
  std::vector<uint64_t> blocks;  // their hashes, XXH3 of 64 bits
  bool operator==(const CheckpointFile&) const = default;
};

// A part of a state: `box` of the whole array is row-major at `offset` of a file.
struct CheckpointPiece {
  int file = 0;
  int64_t offset = 0;
  Box box;
  bool operator==(const CheckpointPiece&) const = default;
};

struct CheckpointState {
  std::string name;  // "params/Dense_0/kernel", "optimizer/mu/params/Dense_0/kernel"
  TensorType type;   // of the whole array
  bool parameter = false;
  std::vector<CheckpointPiece> pieces = {};  // each element is in one
  bool operator==(const CheckpointState&) const = default;
};

struct CheckpointIndex {
  std::string model;  // its name in the run file
  // Training steps done. The place in the data, the optimizer's count and the masks of dropout follow from it.
  int64_t step = 0;
  std::string mesh;         // "data 4 x model 2", for people
  std::string run_file;     // the text of the run that wrote it
  std::string description;  // of the network, as its config.json was; empty: it has none, or it is not known
  std::vector<CheckpointFile> files;
  std::vector<CheckpointState> states;
  std::optional<DataIdentity> data;  // with which it was trained; nothing: written by a version that did not know it

  std::unordered_map<std::string_view, const CheckpointState*> by_name() const;
  int64_t bytes() const;  // of all files
  bool operator==(const CheckpointIndex&) const = default;
};

// {"xxh3": "0f3c...", "checkpoint":\n ... }: the hash is that of all between "checkpoint": and the last brace, so that
// every bit of the text counts.
std::string write_checkpoint_index(const CheckpointIndex& index);
inline constexpr std::string_view checkpoint_index_begin = "{\"xxh3\": \"";
// Throws Failure (damaged_checkpoint at `path`) where the text is not one that was written so.
CheckpointIndex parse_checkpoint_index(std::string_view text, const std::string& path);

}  // namespace shardscope
