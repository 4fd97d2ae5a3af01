#include "engine/checkpoint/exported_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "engine/checkpoint/float_types.h"
#include "engine/checkpoint/joined_dimension.h"
#include "engine/checkpoint/weights_folder.h"

namespace shardscope {

namespace {

// What an expert's arrays are called, by the end of the joined one's name.
struct ExpertParts {
  std::string end;
  std::vector<std::string> names, mixtral;
};
const std::vector<ExpertParts>& expert_parts() {
  static const std::vector<ExpertParts> parts{{".experts.gate_up_proj", {"gate_proj", "up_proj"}, {"w1", "w3"}},
                                              {".experts.down_proj", {"down_proj"}, {"w2"}}};
  return parts;
}

std::string in_mixtral(std::string name) {
  const std::string ours = ".mlp.";
  const size_t at = name.find(ours);
  return at == std::string::npos ? name : name.replace(at, ours.size(), ".block_sparse_moe.");
}

// On disk a linear layer's weight has two dimensions, and its bias one.
std::optional<size_t> dimension_of_layers(const std::string& name, const Shape& shape, bool in_out) {
  const size_t rank = name.ends_with(".weight") ? 2 : name.ends_with(".bias") ? 1 : shape.size();
  if (shape.size() != rank + 1) return std::nullopt;
  return rank == 2 && in_out ? 1 : 0;
}

void add(const CheckpointState& state, const std::string& name, const ModelExport& how,
         std::vector<ExportedArray>& arrays) {
  const bool mixtral = how.experts == ExpertArrays::mixtral;
  const std::string called = mixtral ? in_mixtral(name) : name;
  for (const ExpertParts& parts : expert_parts()) {
    if (how.experts == ExpertArrays::joined || !name.ends_with(parts.end)) continue;
    const std::string before = called.substr(0, called.rfind('.') + 1);
    const std::vector<std::string>& leaves = mixtral ? parts.mixtral : parts.names;
    const Shape& shape = state.type.shape;
    // Former versions held gate and up as one dimension.
    const bool are_joined = shape.size() == 3;
    const int64_t rows = shape[shape.size() - 2] / (are_joined ? std::ssize(leaves) : 1);
    const Shape each{rows, shape.back()};
    Box part{Shape(shape.size()), Shape(shape.size(), 1)};
    std::ranges::copy(each, part.size.end() - 2);
    for (int64_t e = 0; e < shape[0]; ++e) {
      part.start[0] = e;
      for (int64_t i = 0; i < std::ssize(leaves); ++i) {
        part.start[1] = are_joined ? i * rows : i;
        arrays.push_back({fmt::format("{}{}.{}.weight", before, e, leaves[static_cast<size_t>(i)]),
                          {each, state.type.dtype},
                          &state,
                          part});
      }
    }
    return;
  }
  const Shape& shape = state.type.shape;
  ExportedArray& array = arrays.emplace_back();
  array = {called, state.type, &state, {Shape(shape.size()), shape}};
  array.joined = dimension_of_layers(name, shape, how.in_out);
  if (array.joined) array.type.shape = with_joined(shape, *array.joined);
}

using Boxes = std::vector<Box>;

std::vector<float> read_floats(CheckpointReader& checkpoint, const CheckpointState& state, const Boxes& boxes) {
  int64_t count = 0;
  for (const Box& box : boxes) count += element_count(box.size);
  std::vector<std::byte> bytes(static_cast<size_t>(count * byte_size(state.type.dtype)));
  checkpoint.read(requests_of(state, boxes, bytes));
  std::vector<float> values(static_cast<size_t>(count));
  cast_floats(state.type.dtype, bytes, DType::f32, std::as_writable_bytes(std::span(values)));
  return values;
}

// Adds scale (out, rank) (rank, in), summed in double, to a box of the weight.
void add_adapter(CheckpointReader& checkpoint, const ExportedArray& array, const ModelExport& how, const Box& box,
                 std::vector<float>& values) {
  const size_t in = how.in_out ? 0 : 1, out = 1 - in;
  const int64_t rank = array.down->type.shape[0], ins = box.size[in], columns = box.size[1];
  const Box rows{{box.start[out], 0}, {box.size[out], rank}};
  const std::vector<float> up =
      read_floats(checkpoint, *array.up, array.joined ? divided_boxes(array.up->type.shape, rows, 0) : Boxes{rows});
  const std::vector<float> down = read_floats(checkpoint, *array.down, {Box{{0, box.start[in]}, {rank, ins}}});
  for (int64_t at = 0; at < element_count(box.size); ++at) {
    const std::array<int64_t, 2> place{at / columns, at % columns};
    double sum = 0;
    for (int64_t k = 0; k < rank; ++k) {
      sum += static_cast<double>(up[static_cast<size_t>(place[out] * rank + k)]) *
             down[static_cast<size_t>(k * ins + place[in])];
    }
    values[static_cast<size_t>(at)] += static_cast<float>(how.adapter_scale * sum);
  }
}

Boxes boxes_of_state(const ExportedArray& array, const Box& box) {
  if (array.joined) return divided_boxes(array.state->type.shape, box, *array.joined);
  Box of_state = array.part;
  const size_t skipped = array.part.start.size() - box.start.size();
  for (size_t d = 0; d < box.start.size(); ++d) {
    of_state.start[d + skipped] += box.start[d];
    of_state.size[d + skipped] = box.size[d];
  }
  return {of_state};
}

}  // namespace

std::vector<ExportedArray> exported_arrays(const CheckpointIndex& index, const ModelExport& how) {
  std::map<std::string, const CheckpointState*> adapters;
  std::vector<ExportedArray> arrays;
  for (const CheckpointState& state : index.states) {
    const std::optional<std::string> name = weight_name(state.name);
    if (!name) continue;
    if (name->ends_with(".lora_A.weight") || name->ends_with(".lora_B.weight")) adapters[*name] = &state;
    else add(state, *name, how, arrays);
  }
  const std::string end = ".weight";
  for (ExportedArray& array : arrays) {
    const std::string name = *weight_name(array.state->name);
    if (!name.ends_with(end)) continue;
    const std::string layer = name.substr(0, name.size() - end.size());
    if (const auto at = adapters.find(layer + ".lora_A.weight"); at != adapters.end()) {
      array.down = at->second;
      array.up = adapters.at(layer + ".lora_B.weight");
    }
  }
  return arrays;
}

void read(CheckpointReader& checkpoint, const ExportedArray& array, const ModelExport& how, const Box& box,
          std::vector<std::byte>& out) {
  const Boxes boxes = boxes_of_state(array, box);
  out.resize(static_cast<size_t>(TensorType{box.size, array.type.dtype}.bytes()));
  if (!array.down) return checkpoint.read(requests_of(*array.state, boxes, out));
  std::vector<float> values = read_floats(checkpoint, *array.state, boxes);
  add_adapter(checkpoint, array, how, box, values);
  cast_floats(DType::f32, std::as_bytes(std::span(values)), array.type.dtype, out);
}

}  // namespace shardscope
