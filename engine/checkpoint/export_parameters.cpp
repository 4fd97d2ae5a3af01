#include "engine/checkpoint/export_parameters.h"

#include "engine/base/cancelled.h"
#include "engine/checkpoint/array_chunks.h"
#include "engine/checkpoint/array_file.h"

namespace shardscope {

SafetensorsLayout exported_layout(const CheckpointIndex& index) {
  std::vector<NamedArray> arrays;
  for (const CheckpointState& state : index.states) {
    if (state.parameter) arrays.push_back({state.name, state.type});
  }
  return SafetensorsLayout(std::move(arrays));
}

void export_parameters(CheckpointReader& checkpoint, const std::string& path, const std::stop_token& stop) {
  const ArrayFile file(path, exported_layout(checkpoint.index()));
  std::vector<std::byte> bytes;
  size_t array = 0;
  for (const CheckpointState& state : checkpoint.index().states) {
    if (!state.parameter) continue;
    for_each_chunk(state.type, [&](const Box& box) {
      throw_if_stopped(stop);
      bytes.resize(static_cast<size_t>(TensorType{box.size, state.type.dtype}.bytes()));
      const CheckpointReader::Request request{&state, box, bytes};
      checkpoint.read({&request, 1});
      file.write(array, box, bytes);
    });
    ++array;
  }
  file.write_header();
}

}  // namespace shardscope
