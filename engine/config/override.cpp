#include "engine/config/override.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "engine/config/place.h"
#include "engine/config/run_document.h"
#include "engine/config/run_file_keys.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

// A value that can be set: how --set calls it, its place in the document, and where it is.
struct Setting {
  std::string path;
  std::string place;
  JsonNode* node;
};

void collect_settings(JsonNode& node, const std::string& place, std::vector<Setting>& settings) {
  const bool container = node.is(Kind::object) || place == "mesh.axes";
  if (!container || place == "mesh.axes" || place == "sharding.parameters") settings.push_back({place, place, &node});
  for (size_t i = 0; container && i < node.items.size(); ++i) {
    const bool object = node.is(Kind::object);
    collect_settings(node.items[i], object ? member_place(place, node.keys[i]) : element_place(place, i), settings);
  }
}

std::vector<Setting> settings_of(JsonNode& document) {
  std::vector<Setting> settings;
  JsonNode& axes = *document.find("mesh")->find("axes");
  for (size_t i = 0; i < axes.items.size(); ++i) {
    const JsonNode* name = axes.items[i].find("name");
    JsonNode* size = axes.items[i].find("size");
    if (!name || !size || document.find("mesh")->find(name->text)) continue;
    settings.push_back({member_place("mesh", name->text), element_place("mesh.axes", i) + ".size", size});
  }
  collect_settings(document, "", settings);
  return settings;
}

JsonNode settable_document(const RunConfig& config) {
  JsonNode document = to_run_document(config);
  JsonNode& mesh = *document.find("mesh");
  if (!mesh.find("devices")) mesh.add("devices", JsonNode::array());
  return document;
}

std::vector<std::string> paths_of(const std::vector<Setting>& settings) {
  std::vector<std::string> paths;
  for (const Setting& setting : settings) paths.push_back(setting.path);
  return paths;
}

// Near paths, else those of the same section, else the sections.
std::string path_hint(const std::string& path, const std::vector<std::string>& paths) {
  if (!near_names(path, paths).empty()) return name_hint(path, paths);
  const std::string section = path.substr(0, path.find_first_of(".[")) + ".";
  std::vector<std::string> related;
  for (const std::string& known : paths) {
    if (known.starts_with(section) && related.size() < 12) related.push_back(known);
  }
  if (related.empty()) related = run_file::names(run_file::root());
  return fmt::format("known: {}", fmt::join(related, ", "));
}

// Position of the "=" that ends the path; one inside a quoted name does not.
size_t find_assignment(std::string_view text) {
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inside && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      inside = !inside;
    } else if (text[i] == '=' && !inside) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::optional<JsonNode> as_json(const std::string& text) {
  try {
    return read_json(text, "");
  } catch (const Failure&) {
    return std::nullopt;
  }
}

// Whether `place` is `outer` or lies in it.
bool lies_in(const std::string& place, const std::string& outer) {
  if (!place.starts_with(outer)) return false;
  return place.size() == outer.size() || place[outer.size()] == '.' || place[outer.size()] == '[';
}

bool is_utf8(const std::string& text) {
  try {
    quoted(text);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

class Overrides {
 public:
  Overrides(const RunConfig& config, const std::vector<std::string>& known_paths)
      : document_(settable_document(config)), known_paths_(known_paths) {}

  void apply(const std::string& assignment) {
    const size_t equals = find_assignment(assignment);
    const std::string path = assignment.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == assignment.size()) {
      return fail(path, "no_value", "no value is given", "write PATH=VALUE, such as model.num_layers=3");
    }
    const std::string value = assignment.substr(equals + 1);
    if (!is_utf8(value)) return fail(path, "not_utf8", "the value is not UTF-8", "a run file is UTF-8 text");
    const std::vector<Setting> settings = settings_of(document_);
    const auto at = std::find_if(settings.begin(), settings.end(), [&](const auto& s) { return s.path == path; });
    if (at != settings.end()) {
      if (auto node = value_like(*at->node, value, path)) set(*at->node, std::move(*node), path, at->place);
    } else if (std::find(known_paths_.begin(), known_paths_.end(), path) == known_paths_.end() || !add(path, value)) {
      std::vector<std::string> paths = paths_of(settings);
      paths.insert(paths.end(), known_paths_.begin(), known_paths_.end());
      fail(path, "unknown_path", "nothing in the run file has this path", path_hint(path, paths));
    }
  }

  RunConfig finish() {
    std::vector<Error> found;
    RunConfig config = read_run_document(document_, "", found);
    for (Error& error : found) {
      for (auto at = set_.rbegin(); at != set_.rend(); ++at) {
        if (!lies_in(error.where, at->place)) continue;
        error.where = "--set " + at->path + error.where.substr(at->place.size());
        break;
      }
      errors_.push_back(std::move(error));
    }
    if (!errors_.empty()) throw Failure(std::move(errors_));
    return config;
  }

 private:
  struct Set {
    std::string path;
    std::string place;
  };

  void fail(const std::string& path, const char* code, std::string message, std::string hint) {
    errors_.push_back({code, std::move(message), "--set " + path, std::move(hint)});
  }

  void set(JsonNode& node, JsonNode value, const std::string& path, const std::string& place) {
    node = std::move(value);
    set_.push_back({path, place});
  }

  std::optional<JsonNode> value_like(const JsonNode& old, const std::string& text, const std::string& path) {
    std::optional<JsonNode> value = as_json(text);
    const char* expected = "text";
    std::string hint;
    switch (old.kind) {
      case Kind::string:
        if (text[0] != '"') return JsonNode::of(text);
        break;
      case Kind::integer:
        expected = "an integer";
        hint = "the run file has " + print_json_line(old) + " there";
        // Digits without end: the check of the whole says that they are out of range.
        if (value && value->is(Kind::number) && value->text.find_first_of(".eE") == std::string::npos) return value;
        break;
      case Kind::number:
        expected = "a number";
        if (value && value->is(Kind::integer)) return JsonNode::of(static_cast<double>(value->integer));
        break;
      case Kind::boolean: expected = "true or false"; break;
      case Kind::array:
        expected = "a JSON array";
        hint = "such as " + print_json_line(old);
        break;
      case Kind::object:
      case Kind::null: expected = "a JSON object"; break;
    }
    if (value && value->kind == old.kind) return value;
    fail(path, "wrong_type", fmt::format("expected {}, got {}", expected, text), hint);
    return std::nullopt;
  }

  // Adds a value that the document does not have yet. False where the path is of no such value.
  bool add(const std::string& path, const std::string& text) {
    const std::vector<PlaceStep> steps = split_place(path).value_or(std::vector<PlaceStep>{});
    if (std::any_of(steps.begin(), steps.end(), [](const PlaceStep& step) { return step.index.has_value(); }))
      return false;
    if (steps.size() > 2 && steps[0].name == "sharding" && steps[1].name == "parameters") {
      return add_parameter(path, steps, text);
    }
    const bool option =
        steps.size() == 2 && (steps[0].name == "model" || steps[0].name == "data" || steps[0].name == "optimizer");
    if (!option) return false;
    JsonNode value = as_json(text).value_or(JsonNode::of(text));
    document_.find(steps[0].name)->add(steps[1].name, std::move(value));
    set_.push_back({path, path});
    return true;
  }

  bool add_parameter(const std::string& path, const std::vector<PlaceStep>& steps, const std::string& text) {
    JsonNode* node = document_.find("sharding")->find("parameters");
    size_t depth = 2;
    for (JsonNode* next = node; depth < steps.size(); ++depth) {
      next = node->find(steps[depth].name);
      if (!next) break;
      node = next;
    }
    if (depth == steps.size() || !node->is(Kind::object)) return false;
    std::optional<JsonNode> value = value_like(JsonNode::array(), text, path);
    if (!value) return true;
    for (; depth + 1 < steps.size(); ++depth) node = &node->add(steps[depth].name, JsonNode::object());
    node->add(steps[depth].name, std::move(*value));
    set_.push_back({path, path});
    return true;
  }

  JsonNode document_;
  const std::vector<std::string>& known_paths_;
  std::vector<Error> errors_;
  std::vector<Set> set_;
};

}  // namespace

RunConfig apply_overrides(const RunConfig& config, const std::vector<std::string>& assignments,
                          const std::vector<std::string>& known_paths) {
  Overrides overrides(config, known_paths);
  for (const std::string& assignment : assignments) overrides.apply(assignment);
  return overrides.finish();
}

void apply_override(RunConfig& config, std::string_view assignment, const std::vector<std::string>& known_paths) {
  config = apply_overrides(config, {std::string(assignment)}, known_paths);
}

std::vector<std::string> config_paths(const RunConfig& config) {
  JsonNode document = settable_document(config);
  return paths_of(settings_of(document));
}

}  // namespace shardscope
