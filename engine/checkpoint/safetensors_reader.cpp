#include "engine/checkpoint/safetensors_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

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

// Bits of an element of each type of the format (safetensors' Dtype).
std::optional<int64_t> bits_of(std::string_view type) {
  static constexpr std::pair<std::string_view, int64_t> bits[] = {
      {"BOOL", 8},    {"U8", 8},   {"I8", 8},          {"F8_E5M2", 8},     {"F8_E4M3", 8}, {"F8_E8M0", 8},
      {"F4", 4},      {"I16", 16}, {"U16", 16},        {"F16", 16},        {"BF16", 16},   {"F6_E2M3", 6},
      {"F6_E3M2", 6}, {"I32", 32}, {"U32", 32},        {"F32", 32},        {"C64", 64},    {"F64", 64},
      {"I64", 64},    {"U64", 64}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
  };
  const auto found = std::ranges::find(bits, type, &std::pair<std::string_view, int64_t>::first);
  return found == std::end(bits) ? std::nullopt : std::optional(found->second);
}

// Where an array's elements are, counted from the end of the header.
struct Bytes {
  int64_t from, to;
  std::string name;
};

// Whether an array of this many dimensions and size of an element has so many bytes.
bool has_bytes(const nlohmann::json& shape, int64_t bits, int64_t bytes) {
  int64_t count = 1;
  bool is_empty = false;
  for (const nlohmann::json& size : shape) {
    const int64_t number = stored_number(size);
    if (number < 0 || __builtin_mul_overflow(count, std::max<int64_t>(number, 1), &count)) return false;
    is_empty |= number == 0;
  }
  int64_t all = 0;
  if (__builtin_mul_overflow(count, bits, &all)) return false;
  return (is_empty ? 0 : all) == 8 * bytes;
}

SafetensorsReader::Array array_of(const nlohmann::json& json, const Bytes& at, int64_t begin, int64_t bytes) {
  const auto dtype = json.at("dtype").get<std::string>();
  const nlohmann::json& shape = json.at("shape");
  const std::optional<int64_t> bits = bits_of(dtype);
  if (!shape.is_array()) throw std::invalid_argument(fmt::format("the shape of '{}' is none", at.name));
  const bool sound =
      at.from >= 0 && at.from <= at.to && at.to <= bytes - begin && (!bits || has_bytes(shape, *bits, at.to - at.from));
  if (!sound) throw std::invalid_argument(fmt::format("'{}' does not lie where the header says", at.name));
  const bool is_foreign = bytes_of_foreign_float(dtype).has_value();
  const std::optional<DType> known = is_foreign ? DType::f32 : dtype_of_safetensors(dtype);
  SafetensorsReader::Array array{{{}, known.value_or(DType::f32)}, dtype, begin + at.from, {}};
  if (!known) array.unreadable = "is of type " + dtype;
  else if (shape.size() > Shape::max_rank) array.unreadable = fmt::format("has {} dimensions", shape.size());
  else array.type.shape = stored_shape(shape);
  return array;
}

// One array behind the other, from the end of the header to that of the file. Throws std::invalid_argument.
void require_no_gaps(std::vector<Bytes> arrays, int64_t bytes) {
  std::ranges::sort(arrays, {}, [](const Bytes& one) { return std::pair(one.from, one.to); });
  int64_t end = 0;
  for (const Bytes& one : arrays) {
    if (one.from < end) throw std::invalid_argument(fmt::format("'{}' overlaps another array", one.name));
    if (one.from > end) throw std::invalid_argument(fmt::format("no array has the bytes before '{}'", one.name));
    end = one.to;
  }
  if (end != bytes) throw std::invalid_argument(fmt::format("no array has the file's last {} bytes", bytes - end));
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
    const nlohmann::json header = parse_without_repeats(text);
    if (!header.is_object()) throw std::invalid_argument("it is no object");
    const auto begin = static_cast<int64_t>(sizeof length + length);
    std::vector<Bytes> all;
    for (const auto& [name, json] : header.items()) {
      if (name == "__metadata__") continue;
      const nlohmann::json& offsets = json.at("data_offsets");
      all.push_back({stored_number(offsets.at(0)), stored_number(offsets.at(1)), name});
      arrays_.emplace(name, array_of(json, all.back(), begin, static_cast<int64_t>(bytes)));
    }
    require_no_gaps(std::move(all), static_cast<int64_t>(bytes) - begin);
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
