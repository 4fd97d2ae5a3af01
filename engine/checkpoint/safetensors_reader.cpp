#include "engine/checkpoint/safetensors_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/told_array.h"

namespace shardscope {

namespace {

constexpr uint64_t longest_header = 100'000'000;  // as the format says

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Failure(Error{"unreadable_file", what, in_file(path), "a safetensors file of f32, bf16 or i32 arrays"});
}

SafetensorsReader::Array array_of(const nlohmann::json& json, const std::string& name, int64_t begin, int64_t bytes) {
  const auto dtype = json.at("dtype").get<std::string>();
  const int64_t from = told_number(json.at("data_offsets").at(0)), to = told_number(json.at("data_offsets").at(1));
  const std::optional<DType> known = dtype_of_safetensors(dtype);
  if (!known) throw std::invalid_argument(fmt::format("'{}' is of type {}", name, dtype));
  const TensorType type{told_shape(json.at("shape")), *known};
  const bool sound = from >= 0 && from <= to && to <= bytes - begin && told_bytes(type) == to - from;
  if (!sound) throw std::invalid_argument(fmt::format("'{}' does not lie where the header says", name));
  return {type, begin + from};
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path) : file_(path) {
  const auto bytes = static_cast<uint64_t>(file_.bytes());
  uint64_t length = 0;
  if (bytes < sizeof length) fail(path, "this is no safetensors file");
  file_.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > longest_header || length + sizeof length > bytes) fail(path, "this is no safetensors file");
  std::string text(length, ' ');
  file_.read(sizeof length, std::as_writable_bytes(std::span(text)));
  if (is_nested_deeply(text)) fail(path, "its header is nested too deeply");
  try {
    const auto header = nlohmann::json::parse(text);
    if (!header.is_object()) throw std::invalid_argument("it is no object");
    const auto begin = static_cast<int64_t>(sizeof length + length);
    for (const auto& [name, json] : header.items()) {
      if (name != "__metadata__") arrays_.emplace(name, array_of(json, name, begin, static_cast<int64_t>(bytes)));
    }
  } catch (const std::exception& wrong) {
    fail(path, fmt::format("its header is wrong: {}", wrong.what()));
  }
}

void SafetensorsReader::read(const Array& array, std::span<std::byte> out) const { file_.read(array.offset, out); }

}  // namespace shardscope
