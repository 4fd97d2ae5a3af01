#include "engine/mesh/axis_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

namespace shardscope {

namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 7> of_the_batch = {"data", "batch",         "dp",  "replica",
                                                          "ddp",  "data_parallel", "fsdp"};
constexpr std::array<std::string_view, 7> of_a_layer = {"model",          "tensor",         "tp", "mp", "mdl",
                                                        "model_parallel", "tensor_parallel"};
constexpr std::array<std::string_view, 5> of_the_sequence = {"sequence", "seq", "sp", "context", "cp"};
constexpr std::array<std::string_view, 5> of_the_depth = {"pipeline", "pipe", "pp", "stage", "stages"};
constexpr std::array<std::string_view, 3> of_experts = {"expert", "experts", "ep"};
constexpr std::array<Names, 5> customary = {of_the_batch, of_a_layer, of_the_sequence, of_the_depth, of_experts};

const Names* role_of(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return std::tolower(letter); });
  const auto found =
      std::ranges::find_if(customary, [&](Names names) { return std::ranges::find(names, name) != names.end(); });
  return found == customary.end() ? nullptr : &*found;
}

std::string quoted_list(const std::vector<std::string>& names, const char* last_separator) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last_separator : ", ";
    text += "'" + names[i] + "'";
  }
  return text;
}

}  // namespace

std::string unknown_axis_hint(const std::string& name, const Mesh& mesh, const std::vector<LogicalName>& logical) {
  if (mesh.axis_count() == 0) return "the mesh has no axes";
  std::vector<std::string> all, alike;
  for (const MeshAxis& axis : mesh.axes()) {
    all.push_back(axis.name);
    if (const Names* role = role_of(axis.name); role && role == role_of(name)) alike.push_back(axis.name);
  }
  std::string text = "the mesh has " + quoted_list(all, " and ");
  const auto rule = std::ranges::find(logical, name, &LogicalName::name);
  const std::vector<std::string> near = near_names(name, all);
  if (rule != logical.end()) {
    text += fmt::format("; '{}' is a name of dimensions, which {} places on {}: a spec takes that", name, rule->rule,
                        rule->axes);
  } else if (!alike.empty()) {
    text += fmt::format("; '{}' is another name for what is split over {} here", name, quoted_list(alike, " or "));
  } else if (!near.empty()) {
    text += fmt::format("; did you mean {}?", quoted_list(near, " or "));
  }
  return text;
}

}  // namespace shardscope
