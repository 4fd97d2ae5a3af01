#include "engine/checkpoint/safetensors.h"

#include <nlohmann/json.hpp>

#include "engine/base/align.h"

namespace shardscope {

namespace {

constexpr int64_t header_alignment = 8;

const char* safetensors_name(DType dtype) {
  switch (dtype) {
    case DType::f32: return "F32";
    case DType::bf16: return "BF16";
    case DType::i32: return "I32";
    case DType::f16: return "F16";
    case DType::f8: return "F8_E4M3";
  }
  return "";
}

}  // namespace

std::optional<DType> dtype_of_safetensors(std::string_view name) {
  for (DType dtype : {DType::f32, DType::bf16, DType::i32}) {
    if (name == safetensors_name(dtype)) return dtype;
  }
  return std::nullopt;
}

SafetensorsLayout::SafetensorsLayout(std::vector<NamedArray> arrays) : arrays_(std::move(arrays)) {
  std::string text = "{";
  int64_t end = 0;
  for (const auto& [name, type] : arrays_) {
    offsets_.push_back(end);
    end += type.bytes();
    const nlohmann::ordered_json array = {{"dtype", safetensors_name(type.dtype)},
                                          {"shape", std::vector<int64_t>(type.shape.begin(), type.shape.end())},
                                          {"data_offsets", {offsets_.back(), end}}};
    text += (text.size() > 1 ? "," : "") + nlohmann::json(name).dump() + ":" + array.dump();
  }
  text += "}";
  text.resize(static_cast<size_t>(round_up(static_cast<int64_t>(text.size()), header_alignment)), ' ');
  for (size_t byte = 0; byte < sizeof(uint64_t); ++byte) header_ += static_cast<char>(text.size() >> (8 * byte) & 255);
  header_ += text;
  const auto begin = static_cast<int64_t>(header_.size());
  for (int64_t& offset : offsets_) offset += begin;
  bytes_ = begin + end;
}

}  // namespace shardscope
