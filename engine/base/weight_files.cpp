#include "engine/base/weight_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace shardscope {

namespace {

namespace fs = std::filesystem;

const std::string whole = "model.safetensors", index_name = "model.safetensors.index.json";

// Files of weights, by how their names begin and end.
constexpr std::pair<const char*, const char*> forms[] = {
    {"model", ".safetensors"},
    {"consolidated", ".safetensors"},
    {"pytorch_model", ".bin"},
    {"consolidated", ".pth"},
    {"tf_model", ".h5"},
    {"flax_model", ".msgpack"},
    {"", ".gguf"},
};

bool is_of_weights(const std::string& name) {
  return std::ranges::any_of(
      forms, [&](const auto& form) { return name.starts_with(form.first) && name.ends_with(form.second); });
}

Error refusal(std::string message, const std::string& what) {
  return {"unusable_weights", std::move(message), "model.path",
          what + ", or \"initialise\": \"random\" in model to begin from random values"};
}

}  // namespace

std::string weights_file(const std::string& folder) {
  std::error_code ignored;
  for (const std::string& name : {whole, index_name}) {
    if (fs::exists(fs::path(folder) / name, ignored)) return name;
  }
  return {};
}

std::optional<Error> unusable_weights(const std::string& folder) {
  std::error_code ignored;
  for (const std::string& name : {whole, index_name}) {
    const fs::path file = fs::path(folder) / name;
    if (!fs::is_symlink(file, ignored) || fs::exists(file, ignored)) continue;
    return refusal(
        fmt::format("{} is a link to {}, which is not there", file.string(), fs::read_symlink(file, ignored).string()),
        "download the model again");
  }
  std::vector<std::string> found;
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    if (const std::string name = at->path().filename().string(); is_of_weights(name)) found.push_back(name);
  }
  if (found.empty()) return std::nullopt;
  const std::string& first = *std::ranges::min_element(found);
  const std::string more = found.size() > 1 ? fmt::format(" and {} more", found.size() - 1) : "";
  if (first.ends_with(".safetensors")) {
    return refusal(fmt::format("{} has {}{}, and no {}", folder, first, more, index_name), "download the index, too");
  }
  return refusal(fmt::format("{} has {}{}, and no {}", folder, first, more, whole),
                 "convert it (transformers' save_pretrained writes safetensors)");
}

}  // namespace shardscope
