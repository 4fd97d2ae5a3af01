#include "engine/checkpoint/weights_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/base/json_depth.h"
#include "engine/base/weight_files.h"
#include "engine/checkpoint/float_types.h"
#include "engine/checkpoint/stored_array.h"
#include "engine/mesh/box_runs.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

constexpr int64_t longest_index = 64 << 20;

// Array -> file, of an index.
std::map<std::string, std::string> read_index(const std::string& path) {
  const auto fail = [&](const std::string& what) {
    throw Failure(
        Error{"unreadable_file", what, in_file(path), "{\"weight_map\": {\"model.norm.weight\": FILE, ...}}"});
  };
  std::map<std::string, std::string> files;
  const std::string text = read_text(path, longest_index);
  if (is_nested_deeply(text)) fail("the index is nested too deeply");
  try {
    const nlohmann::json index = parse_without_repeats(text);
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
      fail("the index has no object 'weight_map'");
    }
    for (const auto& [name, file] : index["weight_map"].items()) files[name] = file.get<std::string>();
  } catch (const nlohmann::json::exception& wrong) {
    fail(fmt::format("the index is wrong: {}", wrong.what()));
  } catch (const std::invalid_argument& wrong) {
    fail(fmt::format("the index is wrong: {}", wrong.what()));
  }
  for (const auto& [name, file] : files) {
    const bool plain = !file.empty() && fs::path(file).filename() == file;
    if (!plain) fail(fmt::format("the index names '{}', which is no file of its folder", file));
  }
  return files;
}

}  // namespace

std::optional<std::string> weight_name(const std::string& state) {
  constexpr std::string_view collection = "params/";
  if (!state.starts_with(collection)) return std::nullopt;
  std::string name = state.substr(collection.size());
  std::ranges::replace(name, '/', '.');
  return name;
}

WeightsFolder::WeightsFolder(const std::string& folder) : folder_(folder) {
  const std::string file = weights_file(folder), whole = "model.safetensors";
  if (file.empty() || file == whole) {
    add_file(whole, {});
    return;
  }
  const fs::path index = fs::path(folder) / file;
  const std::map<std::string, std::string> wanted = read_index(index.string());
  std::set<std::string> files;
  for (const auto& [name, file_of_name] : wanted) files.insert(file_of_name);
  for (const std::string& one : files) add_file(one, wanted);
  for (const auto& [name, file_of_name] : wanted) {
    if (arrays_.contains(name)) continue;
    throw Failure(Error{"unreadable_file", fmt::format("'{}' is not in {}, where the index says", name, file_of_name),
                        in_file(index.string()), "copy the folder anew"});
  }
}

void WeightsFolder::add_file(const std::string& name, const std::map<std::string, std::string>& wanted) {
  files_.emplace_back((fs::path(folder_) / name).string());
  for (const auto& [array, held] : files_.back().arrays()) {
    const auto file = wanted.find(array);
    if (file != wanted.end() && file->second != name) continue;
    if (arrays_.emplace(array, Held{files_.size() - 1, held}).second) continue;
    throw Failure(Error{"unreadable_file", fmt::format("'{}' is in another file of the folder, too", array),
                        in_file((fs::path(folder_) / name).string()), "an index that names the file of each array"});
  }
}

const Shape* WeightsFolder::find(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) return nullptr;
  const auto& [file, array] = found->second;
  if (array.unreadable.empty()) return &array.type.shape;
  throw Failure(Error{"unreadable_file", fmt::format("'{}' {}", name, array.unreadable), in_file(files_[file].path()),
                      fmt::format("F32, F16, BF16, F64 or F8, of at most {} dimensions", Shape::max_rank)});
}

std::vector<std::string> WeightsFolder::names() const {
  std::vector<std::string> names;
  for (const auto& [name, held] : arrays_) names.push_back(name);
  return names;
}

void WeightsFolder::read(const std::string& name, const Box& box, std::span<float> out) const {
  const Held& held = arrays_.at(name);
  const SafetensorsReader& file = files_[held.file];
  const DType dtype = held.array.type.dtype;
  if (!is_float(dtype)) {
    throw Failure(Error{"unreadable_file", fmt::format("'{}' is of type {}", name, held.array.stored), in_file(folder_),
                        "weights are F32, F16, BF16, F64 or F8"});
  }
  const BoxRuns runs(held.array.type.shape, box);
  std::vector<std::byte> narrow;
  runs.for_each([&](int64_t from, int64_t to) {
    const std::span<float> run = out.subspan(static_cast<size_t>(to), static_cast<size_t>(runs.run_length()));
    if (dtype == DType::f32) return file.read(held.array, from, runs.run_length(), std::as_writable_bytes(run));
    narrow.resize(static_cast<size_t>(runs.run_length()) * byte_size(dtype));
    file.read(held.array, from, runs.run_length(), narrow);
    cast_floats(dtype, narrow, DType::f32, std::as_writable_bytes(run));
  });
}

}  // namespace shardscope
