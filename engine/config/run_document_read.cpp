#include <algorithm>

#include "engine/config/fault_list.h"
#include "engine/config/place.h"
#include "engine/config/read_strategy.h"
#include "engine/config/run_document.h"
#include "engine/config/run_keys.h"
#include "engine/config/strategy.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

const JsonNode* member_of(const JsonNode& document, const char* section, const char* key = nullptr) {
  const JsonNode* node = document.is(Kind::object) ? document.find(section) : nullptr;
  return node && key ? member_of(*node, key) : node;
}

// The mesh's own checks; those of what could not be read are already reported.
void check_mesh(const JsonNode& document, const RunConfig& config, bool with_devices, const std::vector<Error>& errors,
                FaultList& faults) {
  std::vector<Error> found;
  try {
    Mesh(config.mesh_axes, with_devices ? config.mesh_devices : std::vector<int>{});
  } catch (const Failure& failure) {
    found = failure.errors();
  }
  std::erase_if(found, [&](const Error& error) {
    return std::ranges::any_of(errors, [&](const Error& other) {
      return !other.place.path.empty() && is_inside(error.place.path, other.place.path);
    });
  });
  for (Error& error : found) {
    const std::string place = strategy_place(config, error.place.path);
    faults.fail(line_of(document, place), place, error.code, error.message, error.hint);
  }
}

void check_mesh_axes(const JsonNode& node, const RunConfig& config, FaultList& faults) {
  auto same = [](const JsonNode& name, const MeshAxis& axis) { return name.text == axis.name; };
  if (std::equal(node.items.begin(), node.items.end(), config.mesh_axes.begin(), config.mesh_axes.end(), same)) return;
  std::vector<std::string> expected;
  for (const MeshAxis& axis : config.mesh_axes) expected.push_back(axis.name);
  faults.fail(node.line, "sharding.mesh_axes", "mesh_axes", "these are not the axes of the mesh",
              "mesh.axes says " + print_json_line(json_list(expected)) + "; write the same, or leave mesh_axes out");
}

}  // namespace

RunConfig read_run_document(const JsonNode& document, const std::string& file_name, std::vector<Error>& errors) {
  FaultList faults(file_name, errors);
  if (document.is(Kind::object)) faults.check_repeated_keys(document, "");
  const bool has_strategy = find_meant(document, "strategy", keys_of(run_type(true).schema));
  RunConfig config = run_type(has_strategy).read(document, "", faults).value_or(RunConfig());
  if (has_strategy && !member_of(document, "sharding", "mode")) config.sharding.mode = LayoutMode::as_written;
  if (config.strategy) config = add_expansion(std::move(config), document, faults);
  const auto is_read = [&](const char* place) {
    return std::ranges::none_of(errors, [&](const Error& error) { return is_inside(error.place.path, place); });
  };
  const JsonNode *mesh = member_of(document, "mesh"), *axes = member_of(document, "sharding", "mesh_axes");
  const bool mesh_read = mesh && is_read("mesh") && is_read("strategy"), is_known = !has_strategy || config.strategy;
  if (mesh && mesh->is(Kind::object) && is_known) check_mesh(document, config, mesh_read, errors, faults);
  if (axes && mesh_read && is_read("sharding.mesh_axes")) check_mesh_axes(*axes, config, faults);
  return config;
}

}  // namespace shardscope
