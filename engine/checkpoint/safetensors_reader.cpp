#include "engine/checkpoint/safetensors_reader.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

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

SafetensorsReader::Array array_of(const nlohmann::ordered_json& json, const std::string& name, int64_t begin,
                                  int64_t bytes) {
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

SafetensorsReader::SafetensorsReader(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary) {
  if (!file_) fail(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path_, error);
  uint64_t length = 0;
  if (error || !file_.read(reinterpret_cast<char*>(&length), sizeof length)) fail(path_, "this is no safetensors file");
  if (length > longest_header || length + sizeof length > bytes) fail(path_, "this is no safetensors file");
  std::string text(length, ' ');
  if (!file_.read(text.data(), static_cast<std::streamsize>(length))) fail(path_, "the file is cut short");
  if (is_nested_deeply(text)) fail(path_, "its header is nested too deeply");
  try {
    const auto header = nlohmann::ordered_json::parse(text).get<std::map<std::string, nlohmann::ordered_json>>();
    const auto begin = static_cast<int64_t>(sizeof length + length);
    for (const auto& [name, json] : header) {
      if (name != "__metadata__") arrays_.emplace(name, array_of(json, name, begin, static_cast<int64_t>(bytes)));
    }
  } catch (const std::exception& wrong) {
    fail(path_, fmt::format("its header is wrong: {}", wrong.what()));
  }
}

void SafetensorsReader::read(const Array& array, std::span<std::byte> out) {
  file_.clear();
  file_.seekg(array.offset);
  if (!file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()))) {
    fail(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  }
}

}  // namespace shardscope
