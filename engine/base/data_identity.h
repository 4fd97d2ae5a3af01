#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/input_file.h"

namespace shardscope {

// What tells whether a file still holds the same, without reading all of it. Its time of modification does not count.
struct FileIdentity {
  std::string name;  // below the folder that the run file names ("part/b.txt"), or the file's own; printable
  int64_t bytes = 0;
  uint64_t hash = 0;  // XXH3 of its sampled blocks, 64 bits
  bool operator==(const FileIdentity&) const = default;
};

// A file of at most 64 blocks of 64 KiB (4 MiB) is read whole. Of a larger one of n bytes so many blocks are read:
// block k begins at byte k (n - 65536) / 63, rounded down, so that the first begins the file and the last ends it.
// A change of a large file that keeps its size and is between two blocks is not seen. Throws Failure as InputFile.
inline constexpr int64_t identity_block_bytes = int64_t{64} << 10;
inline constexpr int64_t identity_blocks = 64;
FileIdentity identify(const InputFile& file, const std::string& name);

// The files behind one option of a run file's data section, in the order in which they are read.
struct DataPart {
  std::string option;  // "path", "validation_path"
  std::vector<FileIdentity> files;
  bool operator==(const DataPart&) const = default;
};

// What a run trains on. Data that are made up (by a kind without files) follow from the run file.
struct DataIdentity {
  std::string kind;  // data.kind
  std::vector<DataPart> parts;

  int64_t sampled_bytes() const;  // that were read for it
  bool has_files() const { return !parts.empty(); }
  bool operator==(const DataIdentity&) const = default;
};

// A clause for each file that is not what it was, empty where the data are the same; names of files tell them apart,
// and decide nothing:
//   data.path: 'b.txt' had 1200 bytes and has 1300
//   data.path: 'b.txt' has other content, of 1200 bytes as before
//   data.path: 'c.txt' (10 bytes) is new
//   data.path: 'c.txt' (10 bytes) is gone
//   data.kind was 'text' and is 'tokens'
// An option that only one of both has is not compared: a run that does not evaluate reads no validation data.
std::vector<std::string> differences(const DataIdentity& before, const DataIdentity& now);
// The first three of them, and how many more there are.
std::string summary(const std::vector<std::string>& differences);

}  // namespace shardscope
