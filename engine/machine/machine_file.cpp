#include "engine/machine/machine_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/base/input_file.h"
#include "engine/config/write.h"
#include "engine/machine/machine_keys.h"

namespace shardscope {

namespace {

constexpr int64_t max_bytes = 1 << 22;

bool is_device_profile(const JsonNode& json) {
  static constexpr std::array<std::string_view, 3> keys = {"matrix_flops_per_core", "memory_bytes_per_core",
                                                           "collective_bytes_per_core"};
  return std::ranges::any_of(keys, [&](std::string_view key) { return json.find(key) != nullptr; });
}

}  // namespace

Machine parse_machine(const std::string& text, const std::string& name) {
  const JsonNode json = read_json(text, name);
  if (is_device_profile(json)) {
    throw Failure(Error{"old_profile", "this is a device profile of an earlier version: calibrate again",
                        in_file(name, json.line), "run 'shardrun calibrate'"});
  }
  std::vector<Error> errors;
  FaultList faults(name, errors);
  faults.check_repeated_keys(json, "");
  std::optional<Machine> machine = machine_type().read(json, "", faults);
  if (!errors.empty()) throw Failure(std::move(errors));
  return std::move(*machine);
}

std::string machine_text(const Machine& machine) { return print_json(machine_type().write(machine)); }

Machine load_machine(const std::filesystem::path& path) {
  return parse_machine(read_text(path.string(), max_bytes), path.string());
}

void save_machine(const Machine& machine, const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  replace_file(path, machine_text(machine));
}

std::string machine_schema() {
  JsonMembers members = {{"$schema", JsonNode::of("https://json-schema.org/draft/2020-12/schema")},
                         {"title", JsonNode::of("Shardscope machine")}};
  const JsonNode& schema = machine_type().schema;
  for (size_t i = 0; i < schema.keys.size(); ++i) members.emplace_back(schema.keys[i], schema.items[i]);
  return print_json(json_object(std::move(members)));
}

}  // namespace shardscope
