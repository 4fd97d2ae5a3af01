#include "engine/checkpoint/safetensors_reader.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/safetensors.h"

namespace shardscope {

namespace {

constexpr uint64_t longest_header = 100'000'000;  // as the format says

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Failure(Error{"unreadable_file", what, in_file(path), "a safetensors file of f32, bf16 or i32 arrays"});
}

SafetensorsReader::Array array_of(const nlohmann::json& json, const std::string& name, uint64_t begin, uint64_t bytes) {
  const auto dtype = json.at("dtype").get<std::string>();
  const auto sizes = json.at("shape").get<std::vector<int64_t>>();
  const auto offsets = json.at("data_offsets").get<std::vector<uint64_t>>();
  const std::optional<DType> known = dtype_of_safetensors(dtype);
  if (!known) throw std::invalid_argument(fmt::format("'{}' is of type {}", name, dtype));
  const SafetensorsReader::Array array{{Shape(sizes.begin(), sizes.end()), *known},
                                       static_cast<int64_t>(begin + offsets.at(0))};
  const bool sound = offsets.at(0) <= offsets.at(1) && offsets.at(1) <= bytes - begin &&
                     static_cast<int64_t>(offsets.at(1) - offsets.at(0)) == array.type.bytes();
  if (!sound) throw std::invalid_argument(fmt::format("'{}' does not lie where the header says", name));
  return array;
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
  try {
    const auto header = nlohmann::json::parse(text).get<std::map<std::string, nlohmann::json>>();
    for (const auto& [name, json] : header) {
      if (name != "__metadata__") arrays_.emplace(name, array_of(json, name, sizeof length + length, bytes));
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
