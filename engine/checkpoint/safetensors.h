#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/shape.h"

namespace shardscope {

struct NamedArray {
  std::string name;
  TensorType type;
  bool operator==(const NamedArray&) const = default;
};

// The type that the format calls "F32"; nothing for those that we do not have.
std::optional<DType> dtype_of_safetensors(std::string_view name);

// Where named arrays lie in a safetensors file (github.com/huggingface/safetensors): 8 bytes, the length n of the
// header, little endian; n bytes of JSON, {name: {"dtype": "F32", "shape": [...], "data_offsets": [begin, end]}},
// filled up with spaces; then the arrays' elements, row-major, little endian, one array behind the other. Offsets in
// the header count from its end, offset() from the beginning of the file.
class SafetensorsLayout {
 public:
  explicit SafetensorsLayout(std::vector<NamedArray> arrays);

  const std::vector<NamedArray>& arrays() const { return arrays_; }
  const std::string& header() const { return header_; }  // with its length; a multiple of 8 bytes
  int64_t offset(size_t array) const { return offsets_[array]; }
  int64_t bytes() const { return bytes_; }  // of the file

 private:
  std::vector<NamedArray> arrays_;
  std::string header_;
  std::vector<int64_t> offsets_;
  int64_t bytes_ = 0;
};

}  // namespace shardscope
