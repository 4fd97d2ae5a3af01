#include "engine/checkpoint/export_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/base/cancelled.h"
#include "engine/base/output_file.h"
#include "engine/checkpoint/array_chunks.h"
#include "engine/checkpoint/array_file.h"
#include "engine/checkpoint/exported_array.h"

namespace shardscope {

namespace {

using Arrays = std::span<const ExportedArray>;

constexpr size_t most_faults = 20;

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

void write_file(CheckpointReader& checkpoint, Arrays arrays, const ModelExport& how, const std::string& path,
                const std::stop_token& stop) {
  std::vector<NamedArray> named;
  for (const ExportedArray& array : arrays) named.push_back({array.name, array.type});
  write_new_file(path, "");
  const ArrayFile file(path, SafetensorsLayout(std::move(named)));
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < arrays.size(); ++i) {
    for_each_chunk(arrays[i].type, [&](const Box& box) {
      throw_if_stopped(stop);
      read(checkpoint, arrays[i], how, box, bytes);
      file.write(i, box, bytes);
    });
  }
  file.write_header();
}

std::map<std::string, Shape> shapes_of(const CheckpointIndex& index, const ModelExport& how) {
  std::map<std::string, Shape> shapes;
  for (const ExportedArray& array : exported_arrays(index, how)) shapes.emplace(array.name, array.type.shape);
  return shapes;
}

}  // namespace

void require_same_arrays(const CheckpointIndex& checkpoint, const std::vector<std::pair<std::string, Shape>>& states,
                         const ModelExport& how, const Place& place) {
  CheckpointIndex described;
  for (const auto& [name, shape] : states) described.states.push_back({name, {shape, DType::f32}});
  const std::map<std::string, Shape> held = shapes_of(checkpoint, how), wanted = shapes_of(described, how);
  std::vector<Error> errors;
  const auto add = [&](const std::string& name, const std::string& of_config, const std::string& of_checkpoint) {
    if (errors.size() == most_faults) return;
    errors.push_back({"other_model",
                      fmt::format("'{}' is {} by the config, and {} in the checkpoint", name, of_config, of_checkpoint),
                      place, "the config.json that the model was trained with"});
  };
  const std::string missing = "missing";
  for (const auto& [name, shape] : wanted) {
    const auto found = held.find(name);
    if (found == held.end()) add(name, "of shape " + to_string(shape), missing);
    else if (found->second != shape) add(name, "of shape " + to_string(shape), to_string(found->second));
  }
  for (const auto& [name, shape] : held) {
    if (!wanted.contains(name)) add(name, missing, "of shape " + to_string(shape));
  }
  if (!errors.empty()) throw Failure(std::move(errors));
}

void export_model(CheckpointReader& checkpoint, const std::string& folder, const ModelExport& how,
                  const std::stop_token& stop) {
  const std::vector<ExportedArray> arrays = exported_arrays(checkpoint.index(), how);
  const std::vector<Arrays> files = files_of(arrays, how.most_bytes);
  if (files.size() == 1) return write_file(checkpoint, files[0], how, folder + "/model.safetensors", stop);
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  int64_t bytes = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    write_file(checkpoint, files[i], how, folder + "/" + name, stop);
    for (const ExportedArray& array : files[i]) {
      map[array.name] = name;
      bytes += array.type.bytes();
    }
  }
  const nlohmann::ordered_json index{{"metadata", {{"total_size", bytes}}}, {"weight_map", map}};
  write_new_file(folder + "/model.safetensors.index.json", index.dump(1) + "\n");
}

}  // namespace shardscope
