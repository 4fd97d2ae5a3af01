#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/checkpoint/safetensors.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// A safetensors file that several processes write, each the parts of arrays that it holds. The header comes last, so
// that a file that was not finished is none. Throws Failure (unwritable_file, with the path and the system's reason).
class ArrayFile {
 public:
  // Opens a file that is there; what is in it is written over.
  ArrayFile(std::string path, SafetensorsLayout layout);
  ~ArrayFile();
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;

  // The elements of a box of an array, row-major.
  void write(size_t array, const Box& box, std::span<const std::byte> elements) const;
  // When all parts of all arrays are written; by one process.
  void write_header() const;

 private:
  void put(int64_t offset, std::span<const std::byte> bytes) const;

  std::string path_;
  SafetensorsLayout layout_;
  int descriptor_ = -1;
};

// True where the file at `path` begins with a header: it was written to its end.
bool is_whole_array_file(const std::string& path);

}  // namespace shardscope
