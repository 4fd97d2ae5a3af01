#include "engine/checkpoint/export_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/base/output_file.h"
#include "engine/checkpoint/array_chunks.h"
#include "engine/checkpoint/array_file.h"
#include "engine/checkpoint/exported_array.h"

namespace shardscope {

namespace {

using Arrays = std::span<const ExportedArray>;

// The arrays of each file, in order.
std::vector<Arrays> files_of(Arrays arrays, int64_t most_bytes) {
  std::vector<Arrays> files;
  size_t first = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (i > first && bytes + arrays[i].type.bytes() > most_bytes) {
      files.push_back(arrays.subspan(first, i - first));
      first = i;
      bytes = 0;
    }
    bytes += arrays[i].type.bytes();
  }
  files.push_back(arrays.subspan(first));
  return files;
}

void write_file(CheckpointReader& checkpoint, Arrays arrays, const ModelExport& how, const std::string& path) {
  std::vector<NamedArray> named;
  for (const ExportedArray& array : arrays) named.push_back({array.name, array.type});
  write_new_file(path, "");
  const ArrayFile file(path, SafetensorsLayout(std::move(named)));
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < arrays.size(); ++i) {
    for_each_chunk(arrays[i].type, [&](const Box& box) {
      read(checkpoint, arrays[i], how, box, bytes);
      file.write(i, box, bytes);
    });
  }
  file.write_header();
}

}  // namespace

void export_model(CheckpointReader& checkpoint, const std::string& folder, const ModelExport& how) {
  const std::vector<ExportedArray> arrays = exported_arrays(checkpoint.index(), how);
  const std::vector<Arrays> files = files_of(arrays, how.most_bytes);
  if (files.size() == 1) return write_file(checkpoint, files[0], how, folder + "/model.safetensors");
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  int64_t bytes = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    write_file(checkpoint, files[i], how, folder + "/" + name);
    for (const ExportedArray& array : files[i]) {
      map[array.name] = name;
      bytes += array.type.bytes();
    }
  }
  const nlohmann::ordered_json index{{"metadata", {{"total_size", bytes}}}, {"weight_map", map}};
  write_new_file(folder + "/model.safetensors.index.json", index.dump(1) + "\n");
}

}  // namespace shardscope
