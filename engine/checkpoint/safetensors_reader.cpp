#include "engine/checkpoint/safetensors_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/checkpoint/float_types.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/stored_array.h"

namespace shardscope {

namespace {

constexpr uint64_t longest_header = 100'000'000;  // as the format says

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Failure(
      Error{"unreadable_file", what, in_file(path), "a safetensors file of F32, BF16, F16, F64, F8, U8 or I32 arrays"});
}

SafetensorsReader::Array array_of(const nlohmann::json& json, const std::string& name, int64_t begin, int64_t bytes) {
  const auto dtype = json.at("dtype").get<std::string>();
  const int64_t from = stored_number(json.at("data_offsets").at(0)), to = stored_number(json.at("data_offsets").at(1));
  const std::optional<DType> known = dtype_of_safetensors(dtype);
  const std::optional<int64_t> foreign = bytes_of_foreign_float(dtype);
  if (!known && !foreign) throw std::invalid_argument(fmt::format("'{}' is of type {}", name, dtype));
  const TensorType type{stored_shape(json.at("shape")), known.value_or(DType::f32)};
  const int64_t size = foreign.value_or(byte_size(type.dtype)), length = to - from;
  const bool sound = from >= 0 && from <= to && to <= bytes - begin && length % size == 0 &&
                     stored_bytes(type) == length / size * byte_size(type.dtype);
  if (!sound) throw std::invalid_argument(fmt::format("'{}' does not lie where the header says", name));
  return {type, dtype, begin + from};
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path) : file_(path) {
  file_.require_regular();
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

bool SafetensorsReader::Array::is_widened() const { return bytes_of_foreign_float(stored).has_value(); }

void SafetensorsReader::read(const Array& array, std::span<std::byte> out) const {
  read(array, 0, element_count(array.type.shape), out);
}

void SafetensorsReader::read(const Array& array, int64_t first, int64_t count, std::span<std::byte> out) const {
  const std::optional<int64_t> foreign = bytes_of_foreign_float(array.stored);
  const int64_t size = foreign.value_or(static_cast<int64_t>(byte_size(array.type.dtype)));
  if (!foreign) return file_.read(array.offset + first * size, out);
  std::vector<std::byte> stored(static_cast<size_t>(count * size));
  file_.read(array.offset + first * size, stored);
  widen_foreign_floats(array.stored, stored, out);
}

}  // namespace shardscope
