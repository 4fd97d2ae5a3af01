#include "engine/compile/file_paths.h"

#include <algorithm>

#include "engine/config/parse.h"
#include "engine/data/data_kind.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"
#include "models/registry.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

template <class Change>
void change_paths(NamedOptions& section, const std::vector<OptionDefinition>& definitions, Change change) {
  for (auto& [key, value] : section.options) {
    const auto option = std::ranges::find(definitions, key, &OptionDefinition::name);
    auto* path = std::get_if<std::string>(&value);
    if (option != definitions.end() && option->is_path && path && !path->empty()) *path = change(fs::path(*path));
  }
}

template <class Change>
RunConfig with_changed_data(RunConfig config, Change change) {
  if (const DataKind* kind = find_data_kind(config.data.name)) change_paths(config.data, kind->options, change);
  return config;
}

template <class Change>
RunConfig with_changed_model(RunConfig config, Change change) {
  if (const ModelDefinition* model = find_model(config.model.name)) change_paths(config.model, model->options, change);
  return config;
}

fs::path whole(const fs::path& folder) {
  const fs::path path = (folder.empty() ? fs::current_path() : fs::absolute(folder)).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

std::string absolute(const fs::path& path, const fs::path& base) {
  return path.is_absolute() ? path.string() : (base / path).lexically_normal().string();
}

template <class Change>
RunConfig with_paths(RunConfig config, Change change) {
  if (const std::string file = machine_file(config.machine); !file.empty())
    config.machine = with_machine_file(config.machine, change(fs::path(file)));
  return with_changed_data(with_changed_model(std::move(config), change), change);
}

}  // namespace

RunConfig with_absolute_paths(RunConfig config, const fs::path& folder) {
  const fs::path base = whole(folder);
  WrittenPaths written{base.string(), {}};
  RunConfig made = with_paths(std::move(config), [&](const fs::path& path) {
    std::string made = absolute(path, base);
    if (!path.is_absolute()) written.texts.emplace(made, path.string());
    return made;
  });
  if (!written.texts.empty()) made.written_paths = std::move(written);
  return made;
}

RunConfig with_relative_paths(RunConfig config, const fs::path& folder) {
  const fs::path base = whole(folder);
  const WrittenPaths written = config.written_paths;
  return with_paths(std::move(config), [&](const fs::path& path) {
    const auto known = written.texts.find(path.string());
    if (known != written.texts.end() && written.folder == base.string()) return known->second;
    const fs::path relative = path.lexically_relative(base);
    const bool below = path.is_absolute() && !relative.empty() && *relative.begin() != "..";
    return below ? relative.string() : path.string();
  });
}

std::vector<std::string> data_paths(const RunConfig& config) {
  std::vector<std::string> paths;
  with_changed_data(config, [&](const fs::path& path) {
    paths.push_back(path.string());
    return path.string();
  });
  return paths;
}

RunConfig with_data_paths(RunConfig config, const std::function<std::string(const std::string& path)>& change) {
  return with_changed_data(std::move(config), [&](const fs::path& path) { return change(path.string()); });
}

std::vector<std::string> input_paths(const RunConfig& config) {
  std::vector<std::string> paths = data_paths(config);
  with_changed_model(config, [&](const fs::path& path) {
    paths.push_back(path.string());
    return path.string();
  });
  const std::string machine = machine_file(config.machine);
  paths.push_back(machine.empty() ? machine_path().string() : machine);
  return paths;
}

RunConfig with_named_paths(RunConfig config, const std::function<std::string(const std::string& path)>& change) {
  const auto changed = [&](const fs::path& path) { return change(path.string()); };
  return with_changed_data(with_changed_model(std::move(config), changed), changed);
}

RunConfig with_machine(RunConfig config, const std::string& name) {
  config.machine = machine_choice(name);
  if (const std::string file = machine_file(config.machine); !file.empty())
    config.machine = with_machine_file(config.machine, absolute(file, fs::current_path()));
  return config;
}

RunConfig load_run_file(const fs::path& path) { return with_absolute_paths(load_run_config(path), path.parent_path()); }

}  // namespace shardscope
