#include "engine/config/read_specs.h"

#include "engine/base/name_pattern.h"
#include "engine/config/place.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

// Of a list of axes or of dimensions; far above what any mesh or array has.
constexpr size_t most_entries = 64;

bool is_short(const JsonNode& node, const std::string& path, FaultList& faults) {
  if (node.items.size() <= most_entries) return true;
  faults.fail(node.line, path, "too_long", "a list of " + std::to_string(node.items.size()) + " entries",
              "at most " + std::to_string(most_entries));
  return false;
}

void read_axis_name(const JsonNode& node, const std::string& path, const char* expected, std::vector<std::string>& axes,
                    FaultList& faults) {
  if (!faults.expect(node, path, Kind::string, expected)) return;
  if (node.text.empty()) {
    faults.fail(node.line, path, "empty_name", "the axis name is empty", "null where a dimension is not split");
  } else {
    axes.push_back(node.text);
  }
}

void read_below(const JsonNode& node, const std::string& place, std::vector<std::string> path,
                std::vector<ParameterSpec>& parameters, FaultList& faults) {
  for (size_t i = 0; i < node.items.size(); ++i) {
    const JsonNode& item = node.items[i];
    if (node.find(node.keys[i]) != &item) continue;
    const std::string item_place = member_place(place, node.keys[i]);
    if (node.keys[i].empty()) faults.fail(item.line, item_place, "empty_name", "the name is empty");
    path.push_back(node.keys[i]);
    if (item.is(Kind::object)) {
      read_below(item, item_place, path, parameters, faults);
    } else {
      parameters.push_back({path, read_spec(item, item_place, faults)});
    }
    path.pop_back();
  }
}

}  // namespace

std::vector<std::string> read_spec_entry(const JsonNode& node, const std::string& path, FaultList& faults) {
  std::vector<std::string> axes;
  if (node.is(Kind::null)) return axes;
  if (!node.is(Kind::array)) {
    read_axis_name(node, path, "an axis name, null or an array of axis names", axes, faults);
    return axes;
  }
  if (!is_short(node, path, faults)) return axes;
  for (size_t i = 0; i < node.items.size(); ++i) {
    read_axis_name(node.items[i], element_place(path, i), "an axis name", axes, faults);
  }
  return axes;
}

PartitionSpec read_spec(const JsonNode& node, const std::string& path, FaultList& faults) {
  PartitionSpec result;
  std::string hint = "such as [\"data\", null]; [] is replicated";
  if (node.is(Kind::string)) hint = "write [" + describe(node) + "]";
  if (node.is(Kind::null)) hint = "write [] for replicated";
  if (!faults.expect(node, path, Kind::array, "an array, one entry a dimension", hint)) return result;
  if (!is_short(node, path, faults)) return result;
  for (size_t i = 0; i < node.items.size(); ++i) {
    result.dims.push_back(read_spec_entry(node.items[i], element_place(path, i), faults));
  }
  return result;
}

std::vector<ParameterSpec> read_parameter_specs(const JsonNode& node, const std::string& place, FaultList& faults) {
  std::vector<ParameterSpec> parameters;
  read_below(node, place, {}, parameters, faults);
  return parameters;
}

std::string read_names(const JsonNode& node, const std::string& place, FaultList& faults, const std::string& hint) {
  const bool is_list = node.is(Kind::array);
  if (is_list && node.items.empty()) faults.fail(node.line, place, "out_of_range", "the list of names is empty", hint);
  const auto read = [&](const JsonNode& name, const std::string& name_place) {
    if (!faults.expect(name, name_place, Kind::string, is_list ? "a name" : "a name or a list of names", hint)) return;
    if (name.text.empty()) faults.fail(name.line, name_place, "empty_name", "the name is empty", hint);
  };
  if (!is_list) {
    read(node, place);
    return node.text;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < node.items.size(); ++i) {
    read(node.items[i], element_place(place, i));
    names.push_back(node.items[i].text);
  }
  return pattern_of_list(names);
}

}  // namespace shardscope
