#include "engine/checkpoint/export_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/output_file.h"
#include "engine/checkpoint/array_chunks.h"
#include "engine/checkpoint/array_file.h"
#include "engine/checkpoint/weights_folder.h"

namespace shardscope {

namespace {

using States = std::vector<const CheckpointState*>;

// The states of each file, in the checkpoint's order.
std::vector<States> files_of(const CheckpointIndex& index, int64_t most_bytes) {
  std::vector<States> files(1);
  int64_t bytes = 0;
  for (const CheckpointState& state : index.states) {
    if (!weight_name(state.name)) continue;
    if (!files.back().empty() && bytes + state.type.bytes() > most_bytes) {
      files.emplace_back();
      bytes = 0;
    }
    files.back().push_back(&state);
    bytes += state.type.bytes();
  }
  return files;
}

void write_file(CheckpointReader& checkpoint, const States& states, const std::string& path) {
  std::vector<NamedArray> arrays;
  for (const CheckpointState* state : states) arrays.push_back({*weight_name(state->name), state->type});
  write_new_file(path, "");
  const ArrayFile file(path, SafetensorsLayout(std::move(arrays)));
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < states.size(); ++i) {
    for_each_chunk(states[i]->type, [&](const Box& box) {
      bytes.resize(static_cast<size_t>(TensorType{box.size, states[i]->type.dtype}.bytes()));
      const CheckpointReader::Request request{states[i], box, bytes};
      checkpoint.read({&request, 1});
      file.write(i, box, bytes);
    });
  }
  file.write_header();
}

}  // namespace

void export_model(CheckpointReader& checkpoint, const std::string& folder, int64_t most_bytes) {
  const std::vector<States> files = files_of(checkpoint.index(), most_bytes);
  if (files.size() == 1) return write_file(checkpoint, files[0], folder + "/model.safetensors");
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  int64_t bytes = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, files.size());
    write_file(checkpoint, files[i], folder + "/" + name);
    for (const CheckpointState* state : files[i]) {
      map[*weight_name(state->name)] = name;
      bytes += state->type.bytes();
    }
  }
  const nlohmann::ordered_json index{{"metadata", {{"total_size", bytes}}}, {"weight_map", map}};
  write_new_file(folder + "/model.safetensors.index.json", index.dump(1) + "\n");
}

}  // namespace shardscope
