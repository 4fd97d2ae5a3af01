#include <algorithm>
#include <limits>

#include "engine/base/name_pattern.h"
#include "engine/config/place.h"
#include "engine/config/read_specs.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

LogicalAxes read_axes(const JsonNode& node, const std::string& place, FaultList& faults) {
  LogicalAxes result;
  if (!faults.expect(node, place, Kind::object, "an object", "such as {\"mlp\": \"model\", \"embed\": null}"))
    return result;
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (node.find(node.keys[i]) != &node.items[i]) continue;
    const std::string item_place = member_place(place, node.keys[i]);
    if (node.keys[i].empty()) faults.fail(node.items[i].line, item_place, "empty_name", "the name is empty");
    result.axes.emplace_back(node.keys[i], read_spec_entry(node.items[i], item_place, faults));
  }
  return result;
}

LargestDimension read_largest(const JsonNode& rule, const std::string& place, FaultList& faults) {
  LargestDimension result;
  const JsonNode& axes = *rule.find("largest");
  const std::string axes_place = member_place(place, "largest");
  if (axes.is(Kind::null) || (axes.is(Kind::array) && axes.items.empty())) {
    faults.fail(axes.line, axes_place, "wrong_type", "expected an axis name or an array of axis names",
                "a mesh axis, such as \"data\"");
  } else {
    result.axes = read_spec_entry(axes, axes_place, faults);
  }
  if (const JsonNode* bytes = rule.find("minimum_bytes")) {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    result.minimum_bytes = faults.integer(*bytes, member_place(place, "minimum_bytes"), 0, most).value_or(0);
  }
  return result;
}

std::vector<SpecKind> read_kinds(const JsonNode& node, const std::string& place, FaultList& faults) {
  const std::vector<std::string>& words = run_file::spec_kinds();
  std::vector<SpecKind> kinds;
  auto read = [&](const JsonNode& word, const std::string& word_place) {
    if (!faults.expect(word, word_place, Kind::string, "what the rule is of", "such as \"parameters\"")) return;
    const auto at = std::find(words.begin(), words.end(), word.text);
    if (at != words.end()) return kinds.push_back(static_cast<SpecKind>(at - words.begin()));
    faults.fail(word.line, word_place, "unknown_kind", "there are no specs of '" + word.text + "'",
                name_hint(word.text, words));
  };
  if (!node.is(Kind::array)) read(node, place);
  if (node.is(Kind::array) && node.items.empty())
    faults.fail(node.line, place, "out_of_range", "the rule is of nothing", "such as \"parameters\"");
  for (size_t i = 0; node.is(Kind::array) && i < node.items.size(); ++i) read(node.items[i], element_place(place, i));
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

std::vector<std::string> read_dimensions(const JsonNode& node, const std::string& place, FaultList& faults) {
  std::vector<std::string> names;
  const char* hint = R"(such as ["batch", "length", "embed"])";
  if (!faults.expect(node, place, Kind::array, "an array of names of dimensions", hint)) return names;
  if (node.items.empty()) faults.fail(node.line, place, "out_of_range", "the list of names is empty", hint);
  for (size_t i = 0; i < node.items.size(); ++i) {
    faults.expect(node.items[i], element_place(place, i), Kind::string, "the name of a dimension", hint);
    names.push_back(node.items[i].text);
  }
  return names;
}

const run_file::Keys* keys_of(const JsonNode& node, const std::string& place, FaultList& faults) {
  const std::pair<const char*, const run_file::Keys*> forms[] = {
      {"spec", &run_file::rule_by_name()}, {"axes", &run_file::rule_by_axes()}, {"largest", &run_file::rule_by_size()}};
  const run_file::Keys* keys = nullptr;
  for (const auto& [key, its_keys] : forms) {
    if (!node.find(key)) continue;
    if (keys) {
      faults.fail(node.find(key)->line, member_place(place, key), "two_placements", "the rule places its arrays twice",
                  "one of \"spec\", \"axes\", \"largest\"; make it two rules");
      return nullptr;
    }
    keys = its_keys;
  }
  if (!keys) {
    faults.fail(node.line, place, "missing_key", "the rule does not say how its arrays lie",
                "one of \"spec\": [\"data\", null], \"axes\": {\"mlp\": \"model\"}, \"largest\": \"data\"");
  }
  return keys;
}

SpecRule read_rule(const JsonNode& node, const std::string& place, FaultList& faults) {
  SpecRule rule;
  if (!faults.expect(node, place, Kind::object, "an object", "such as {\"axes\": {\"mlp\": \"model\"}}")) return rule;
  const run_file::Keys* keys = keys_of(node, place, faults);
  if (!keys) return rule;
  faults.check_keys(node, place, *keys);
  if (const JsonNode* names = node.find("names"))
    rule.names = read_names(*names, place + ".names", faults, R"("**" for all)");
  if (const JsonNode* spec = node.find("spec")) rule.placement = read_spec(*spec, place + ".spec", faults);
  if (const JsonNode* axes = node.find("axes")) rule.placement = read_axes(*axes, place + ".axes", faults);
  if (node.find("largest")) rule.placement = read_largest(node, place, faults);
  if (const JsonNode* dimensions = node.find("dimensions"))
    rule.dimensions = read_dimensions(*dimensions, place + ".dimensions", faults);
  if (const JsonNode* of = node.find("of")) rule.of = read_kinds(*of, place + ".of", faults);
  return rule;
}

}  // namespace

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

std::vector<Constraint> read_constraints(const JsonNode& node, const std::string& place, FaultList& faults) {
  std::vector<Constraint> constraints;
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (node.find(node.keys[i]) != &node.items[i]) continue;
    const std::string item_place = member_place(place, node.keys[i]);
    if (node.keys[i].empty()) faults.fail(node.items[i].line, item_place, "empty_name", "the name is empty");
    constraints.push_back({node.keys[i], read_spec(node.items[i], item_place, faults)});
  }
  return constraints;
}

std::vector<SpecRule> read_rules(const JsonNode& node, const std::string& place, FaultList& faults) {
  std::vector<SpecRule> rules;
  for (size_t i = 0; i < node.items.size(); ++i) {
    rules.push_back(read_rule(node.items[i], element_place(place, i), faults));
  }
  return rules;
}

}  // namespace shardscope
