#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "engine/base/input_file.h"
#include "engine/base/shape.h"

namespace shardscope {

// The arrays of a safetensors file that anybody has written. Throws Failure (unreadable_file, with the path and what is
// wrong) where it is none: among others where a name is given twice, arrays overlap, or bytes belong to no array, as
// the format's own library has it.
class SafetensorsReader {
 public:
  struct Array {
    TensorType type;         // as it is read: F16, F64, F8 and U8 as f32
    std::string stored;      // the format's name of the type in the file: "F16"
    int64_t offset = 0;      // of its elements in the file
    std::string unreadable;  // "is of type BOOL": why it cannot be read, and has no type here; empty where it can

    bool is_widened() const;
  };

  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, Array>& arrays() const { return arrays_; }
  // All elements of one that can be read, row-major.
  void read(const Array& array, std::span<std::byte> out) const;
  // `count` elements from the row-major index `first` on.
  void read(const Array& array, int64_t first, int64_t count, std::span<std::byte> out) const;

 private:
  InputFile file_;
  std::map<std::string, Array> arrays_;
};

}  // namespace shardscope
