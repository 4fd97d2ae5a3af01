#include "engine/config/override.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "engine/base/name_pattern.h"
#include "engine/config/place.h"
#include "engine/config/run_document.h"
#include "engine/config/run_keys.h"
#include "engine/config/strategy.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

// A value that can be set: how --set calls it, its place in the document, and where it is.
struct Setting {
  std::string path;
  std::string place;
  JsonNode* node;
};

bool is_option_section(const std::string& name) { return name == "model" || name == "data" || name == "optimizer"; }

void collect_settings(JsonNode& node, const std::string& place, std::vector<Setting>& settings) {
  const bool option_list = node.is(Kind::array) && is_option_section(place.substr(0, place.find('.')));
  const bool list = place == "mesh.axes" || place == "sharding.rules" || option_list;
  const bool container = node.is(Kind::object) || list;
  const bool settable_whole =
      list || place == "sharding.parameters" || place == "sharding.constraints" || place == "precision";
  if (!container || settable_whole || is_inside(place, "sharding.rules")) settings.push_back({place, place, &node});
  for (size_t i = 0; container && i < node.items.size(); ++i) {
    const bool object = node.is(Kind::object);
    collect_settings(node.items[i], object ? member_place(place, node.keys[i]) : element_place(place, i), settings);
  }
}

void add_axes_by_name(JsonNode& mesh, std::vector<Setting>& settings) {
  JsonNode* axes = mesh.find("axes");
  for (size_t i = 0; axes && i < axes->items.size(); ++i) {
    const JsonNode* name = axes->items[i].find("name");
    JsonNode* size = axes->items[i].find("size");
    if (!name || !size || mesh.find(name->text)) continue;
    settings.push_back({member_place("mesh", name->text), element_place("mesh.axes", i) + ".size", size});
  }
}

std::vector<Setting> settings_of(JsonNode& document) {
  std::vector<Setting> settings;
  if (JsonNode* mesh = document.find("mesh")) add_axes_by_name(*mesh, settings);
  collect_settings(document, "", settings);
  return settings;
}

std::vector<std::string> paths_of(const std::vector<Setting>& settings) {
  std::vector<std::string> paths;
  for (const Setting& setting : settings) paths.push_back(setting.path);
  return paths;
}

constexpr size_t max_length = 10'000;

// Near paths, else those of the same section, else the sections. Those that end with a dot take any name.
std::string path_hint(const std::string& path, const std::vector<std::string>& paths) {
  if (std::ranges::find(paths, path + ".") != paths.end()) return fmt::format("such as {}.NAME=VALUE", path);
  if (!near_names(path, paths).empty()) return name_hint(path, paths);
  const std::string section = path.substr(0, path.find_first_of(".[")) + ".";
  std::vector<std::string> related;
  for (const std::string& known : paths) {
    if (known.starts_with(section) && related.size() < 12) related.push_back(known);
  }
  if (related.empty()) related = keys_of(run_type(true).schema);
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

// Sets a member, in front of the others where it is new and `in_front`.
void put(JsonNode& object, const std::string& key, JsonNode value, bool in_front = false) {
  if (JsonNode* old = object.find(key)) {
    *old = std::move(value);
  } else if (in_front) {
    object.keys.insert(object.keys.begin(), key);
    object.items.insert(object.items.begin(), std::move(value));
  } else {
    object.add(key, std::move(value));
  }
}

JsonNode example_spec() { return to_node(PartitionSpec{{{"data"}, {}}}); }

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
      : document_(to_whole_run_document(config)), known_paths_(known_paths) {}

  void apply(const std::string& assignment) {
    const size_t equals = find_assignment(assignment);
    const std::string path = assignment.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == assignment.size()) {
      return fail(path, "no_value", "no value is given", "write PATH=VALUE, such as model.num_layers=3");
    }
    const std::string value = assignment.substr(equals + 1);
    if (std::max(path.size(), value.size()) > max_length) {
      return fail(path.substr(0, 100), "too_long", fmt::format("{} characters", assignment.size()),
                  fmt::format("at most {} on each side of the '='", max_length));
    }
    if (!is_utf8(value)) return fail(path, "not_utf8", "the value is not UTF-8", "a run file is UTF-8 text");
    const std::vector<Setting> settings = settings_of(document_);
    const auto at = std::find_if(settings.begin(), settings.end(), [&](const auto& s) { return s.path == path; });
    if (value == "null" && remove(path)) return;
    if (at != settings.end()) {
      if (auto node = value_at(*at, value)) set(*at->node, std::move(*node), path, at->place);
    } else if (!add(path, value)) {
      std::vector<std::string> paths = paths_of(settings);
      for (const std::string& known : known_paths_) {
        if (std::find(paths.begin(), paths.end(), known) == paths.end()) paths.push_back(known);
      }
      fail(path, "unknown_path", "nothing in the run file has this path", path_hint(path, paths));
    }
  }

  RunConfig finish() {
    std::vector<Error> found;
    RunConfig config = read_run_document(document_, "", found);
    for (Error& error : found) {
      blame(error.place);
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
    errors_.push_back({code, std::move(message), at_argument("--set " + path), std::move(hint)});
  }

  // The config was legal: an assignment of the value at fault, of one in it, or of its section has made it illegal.
  void blame(Place& place) const {
    auto last = [&](auto is_it) { return std::find_if(set_.rbegin(), set_.rend(), is_it); };
    auto at = last([&](const Set& set) { return is_inside(place.path, set.place); });
    if (at != set_.rend()) {
      place = at_argument("--set " + at->path + place.path.substr(at->place.size()));
      return;
    }
    at = last([&](const Set& set) { return is_inside(set.place, place.path); });
    const std::string section = place.path.substr(0, place.path.find_first_of(".["));
    if (at == set_.rend()) at = last([&](const Set& set) { return is_inside(set.place, section); });
    if (at != set_.rend()) place.argument = "--set " + at->path;
  }

  void set(JsonNode& node, JsonNode value, const std::string& path, const std::string& place) {
    node = std::move(value);
    set_.push_back({path, place});
  }

  // A rule's values may change their kind, and so may a machine, a stack and what is a name or a list of names: the
  // check of the whole judges them.
  std::optional<JsonNode> value_at(const Setting& setting, const std::string& text) {
    const bool of_a_rule = setting.place != "sharding.rules" && is_inside(setting.place, "sharding.rules");
    const bool is_of_any_kind = setting.place == "schedule.rematerialise" || setting.place == "strategy.recompute" ||
                                is_named_value(setting.place) || is_inside(setting.place, "precision");
    return of_a_rule || is_of_any_kind ? as_json(text).value_or(JsonNode::of(text))
                                       : value_like(*setting.node, text, setting.path);
  }

  // Takes away what a run file need not have.
  bool remove(const std::string& path) {
    JsonNode& object = path == "optimizer" ? document_ : *document_.find("sharding");
    const std::string key = path == "optimizer" ? path : "memory_limit_mib";
    if (path != "optimizer" && path != "sharding.memory_limit_mib") return false;
    object.remove(key);
    return true;
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
    const bool known = std::find(known_paths_.begin(), known_paths_.end(), path) != known_paths_.end();
    if (steps.size() < 2) return false;
    if (is_named_value(steps[0].name)) return add_to_named(path, steps, text);
    if (steps.size() > 2 && steps[0].name == "sharding" && steps[1].name == "parameters")
      return add_parameter(path, steps, text, known);
    return is_option_section(steps[0].name) ? add_option(path, steps, text, known) : add_described(path, steps, text);
  }

  bool add_option(const std::string& path, const std::vector<PlaceStep>& steps, const std::string& text, bool known) {
    if (std::ranges::any_of(steps, [](const PlaceStep& step) { return step.index.has_value(); })) return false;
    if (steps.size() > 2) return add_to_open_option(path, steps, text);
    if (!(known || path == "optimizer.name")) return false;
    if (!document_.find(steps[0].name)) document_.add(steps[0].name, JsonNode::object());
    put_at(*document_.find(steps[0].name), steps[1].name, as_json(text).value_or(JsonNode::of(text)), path);
    return true;
  }

  // What the tables of keys have at the path, in an object that the document has; or a rule behind the last.
  bool add_described(const std::string& path, const std::vector<PlaceStep>& steps, const std::string& text) {
    JsonNode* node = &document_;
    std::vector<const JsonNode*> schemas = {&run_type(true).schema};
    for (size_t depth = 0; depth < steps.size(); ++depth) {
      const PlaceStep& step = steps[depth];
      std::vector<const JsonNode*> inner;
      for (const JsonNode* schema : schemas) find_member(*schema, step, inner);
      if (inner.empty()) return false;
      schemas = std::move(inner);
      if (step.index && !node->is(Kind::array)) return false;
      if (!step.index && !node->is(Kind::object)) *node = JsonNode::object();  // it was a name, of a recipe
      if (depth + 1 == steps.size()) break;
      if (step.index && *step.index >= node->items.size()) return false;
      node = step.index ? &node->items[*step.index] : node->find(step.name);
      if (!node) return false;
    }
    const JsonNode* type = schemas.front()->find("type");
    const bool is_text = type && type->text == "string" && text[0] != '"';
    JsonNode value = is_text ? JsonNode::of(text) : as_json(text).value_or(JsonNode::of(text));
    if (!steps.back().index) {
      put_at(*node, steps.back().name, std::move(value), path, steps[steps.size() - 2].name == "constraints");
    } else if (path == element_place("sharding.rules", node->items.size())) {
      node->items.push_back(std::move(value));
      set_.push_back({path, path});
    } else {
      return false;
    }
    return true;
  }

  // The schemas of a member, or of an element, of what a schema describes.
  static void find_member(const JsonNode& schema, const PlaceStep& step, std::vector<const JsonNode*>& found) {
    if (const JsonNode* any = schema.find("anyOf"))
      for (const JsonNode& one : any->items) find_member(one, step, found);
    const JsonNode* keys = schema.find("properties");
    const JsonNode* member = step.index ? schema.find("items") : keys ? keys->find(step.name) : nullptr;
    if (!member && !step.index) member = schema.find("additionalProperties");
    if (member && member->is(Kind::object)) found.push_back(member);
  }

  // "model.overrides.a.b", where the known paths have "model.overrides."; or "model.lora.rank", where they have it.
  bool add_to_open_option(const std::string& path, const std::vector<PlaceStep>& steps, const std::string& text) {
    const std::string open = steps[0].name + "." + steps[1].name + ".";
    const auto is_known = [&](const std::string& it) {
      return std::ranges::find(known_paths_, it) != known_paths_.end();
    };
    if (!is_known(open) && !is_known(path)) return false;
    JsonNode* node = document_.find(steps[0].name);
    for (size_t depth = 1; depth + 1 < steps.size(); ++depth) {
      JsonNode* next = node->find(steps[depth].name);
      if (!next) next = &node->add(steps[depth].name, JsonNode::object());
      if (!next->is(Kind::object)) return false;
      node = next;
    }
    put_at(*node, steps.back().name, as_json(text).value_or(JsonNode::of(text)), path);
    return true;
  }

  void put_at(JsonNode& object, const std::string& key, JsonNode value, const std::string& path,
              bool in_front = false) {
    put(object, key, std::move(value), in_front);
    set_.push_back({path, path});
  }

  // A machine or a software stack: a name, or an object that has one.
  static bool is_named_value(const std::string& key) { return key == "machine" || key == "stack"; }

  // A value of what is named, in the place of its own: {"name": "host", "levels": {"network": {"latency": 1e-5}}}.
  bool add_to_named(const std::string& path, const std::vector<PlaceStep>& steps, const std::string& text) {
    JsonNode* node = document_.find(steps[0].name);
    if (node->is(Kind::string)) {
      JsonNode named = JsonNode::object();
      named.add("name", std::move(*node));
      *node = std::move(named);
    }
    for (size_t depth = 1; depth + 1 < steps.size(); ++depth) {
      put_missing(*node, steps[depth].name);
      node = node->find(steps[depth].name);
      if (!node->is(Kind::object)) return false;
    }
    put_at(*node, steps.back().name, as_json(text).value_or(JsonNode::of(text)), path);
    return true;
  }

  static void put_missing(JsonNode& object, const std::string& key) {
    if (!object.find(key)) object.add(key, JsonNode::object());
  }

  // A parameter of the model, or a pattern, which needs no known path and stands before the others, so that it decides.
  bool add_parameter(const std::string& path, const std::vector<PlaceStep>& steps, const std::string& text,
                     bool known) {
    const bool pattern = is_pattern(path);
    if (!known && !pattern) return false;
    JsonNode* node = document_.find("sharding")->find("parameters");
    size_t depth = 2;
    for (JsonNode* next = node; depth < steps.size(); ++depth) {
      next = node->find(steps[depth].name);
      if (!next) break;
      node = next;
    }
    if (depth == steps.size() || !node->is(Kind::object)) return false;
    std::optional<JsonNode> value = value_like(example_spec(), text, path);
    if (!value) return true;
    for (; depth + 1 < steps.size(); ++depth) {
      put(*node, steps[depth].name, JsonNode::object(), pattern);
      node = node->find(steps[depth].name);
    }
    put_at(*node, steps[depth].name, std::move(*value), path, pattern);
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
  RunConfig changed = overrides.finish();
  changed.written_paths = config.written_paths;
  return changed;
}

void apply_override(RunConfig& config, std::string_view assignment, const std::vector<std::string>& known_paths) {
  config = apply_overrides(config, {std::string(assignment)}, known_paths);
}

std::vector<std::string> config_paths(const RunConfig& config) {
  JsonNode document = to_whole_run_document(config);
  return paths_of(settings_of(document));
}

}  // namespace shardscope
