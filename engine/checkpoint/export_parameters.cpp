#include "engine/checkpoint/export_parameters.h"

#include <algorithm>

#include "engine/checkpoint/array_file.h"

namespace shardscope {

namespace {

constexpr int64_t chunk_bytes = int64_t{16} << 20;

// Some rows of an array at a time.
template <class Visit>
void for_each_chunk(const TensorType& type, Visit&& visit) {
  Box box{Shape(type.shape.size()), type.shape};
  if (type.shape.empty() || type.bytes() == 0) return visit(box);
  const int64_t rows = type.shape[0], row_bytes = type.bytes() / rows;
  const int64_t step = std::clamp(chunk_bytes / row_bytes, int64_t{1}, rows);
  for (int64_t row = 0; row < rows; row += step) {
    box.start[0] = row;
    box.size[0] = std::min(step, rows - row);
    visit(box);
  }
}

}  // namespace

SafetensorsLayout exported_layout(const CheckpointIndex& index) {
  std::vector<NamedArray> arrays;
  for (const CheckpointState& state : index.states) {
    if (state.parameter) arrays.push_back({state.name, state.type});
  }
  return SafetensorsLayout(std::move(arrays));
}

void export_parameters(CheckpointReader& checkpoint, const std::string& path) {
  const ArrayFile file(path, exported_layout(checkpoint.index()));
  std::vector<std::byte> bytes;
  size_t array = 0;
  for (const CheckpointState& state : checkpoint.index().states) {
    if (!state.parameter) continue;
    for_each_chunk(state.type, [&](const Box& box) {
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
