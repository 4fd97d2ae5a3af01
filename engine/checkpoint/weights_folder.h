#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/safetensors_reader.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// The name that a parameter has in such files: of the state "params/a/b" "a.b"; nothing of other states.
std::optional<std::string> weight_name(const std::string& state);

// A model's arrays as Hugging Face's transformers writes them: FOLDER/model.safetensors, else several files that
// FOLDER/model.safetensors.index.json names ({"weight_map": {array: file}}). An array is that of the file which the
// index names; one that the index does not name must be in one file only. F32, F16, BF16, F64, F8 and U8 are read as
// f32. Throws Failure: unreadable_file (naming the file and what is wrong), missing_file.
class WeightsFolder {
 public:
  explicit WeightsFolder(const std::string& folder);

  const std::string& path() const { return folder_; }
  // The shape of an array; nullptr where there is none of this name. Throws where it is of a type or of dimensions that
  // are not read.
  const Shape* find(const std::string& name) const;
  // The type of an array in its file, as safetensors calls it.
  const std::string& stored_type(const std::string& name) const { return arrays_.at(name).array.stored; }
  std::vector<std::string> names() const;
  // The elements of a box of an array, row-major, as f32. Reads nothing outside it.
  void read(const std::string& name, const Box& box, std::span<float> out) const;

 private:
  // `wanted`: the file of each array that the index names.
  void add_file(const std::string& name, const std::map<std::string, std::string>& wanted);

  struct Held {
    size_t file;
    SafetensorsReader::Array array;
  };
  std::string folder_;
  std::vector<SafetensorsReader> files_;
  std::map<std::string, Held> arrays_;
};

}  // namespace shardscope
