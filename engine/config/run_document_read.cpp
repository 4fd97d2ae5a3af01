#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/config/fault_list.h"
#include "engine/config/place.h"
#include "engine/config/read_specs.h"
#include "engine/config/read_strategy.h"
#include "engine/config/run_document.h"
#include "engine/config/run_file_keys.h"
#include "engine/config/run_keys.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

class RunDocumentReader {
 public:
  RunDocumentReader(const JsonNode& document, const std::string& file_name, std::vector<Error>& errors)
      : document_(document), faults_(file_name, errors) {}

  RunConfig read() {
    RunConfig config;
    if (!faults_.expect(document_, "", Kind::object, "an object",
                        "a run file is {\"model\": ..., \"mesh\": ..., ...}")) {
      return config;
    }
    faults_.check_repeated_keys(document_, "");
    faults_.check_keys(document_, "", root_keys());
    check_version();
    read_options("model", config.model);
    config.strategy = read_strategy(document_, faults_);
    if (config.strategy) config.sharding.mode = LayoutMode::as_written;
    read_mesh(config);
    read_sharding(config);
    read_options("data", config.data);
    read_options("optimizer", config.optimizer);
    read_section("precision", precision_type(), config.precision);
    read_section("schedule", schedule_type(), config.schedule);
    read_section("pipeline", pipeline_type(), config.pipeline);
    read_lint(config.lint);
    read_machine(config.machine);
    read_stack(config.stack);
    if (const JsonNode* hosts = document_.find("hosts");
        hosts && faults_.expect(*hosts, "hosts", Kind::string, "a list of hosts", "such as \"h0:4,h1:4\"")) {
      config.hosts = hosts->text;
    }
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    if (auto seed = member_integer(document_, "", "seed", 0, most)) config.seed = *seed;
    if (auto steps = member_integer(document_, "", "steps", 1, most)) config.steps = *steps;
    if (const JsonNode* node = document_.find("deterministic");
        node && faults_.expect(*node, "deterministic", Kind::boolean, "true or false")) {
      config.deterministic = node->boolean;
    }
    return config.strategy ? add_expansion(std::move(config), document_, faults_) : config;
  }

 private:
  // It says nothing of the run: what it changed is read in any file.
  void check_version() {
    const auto version = member_integer(document_, "", "version", 1, std::numeric_limits<int64_t>::max());
    if (version.value_or(1) <= run_file::current_version) return;
    faults_.fail(document_.find("version")->line, "version", "newer_version",
                 fmt::format("this run file is of version {}", *version),
                 fmt::format("this program reads versions up to {}; take a newer one", run_file::current_version));
  }

  std::optional<int64_t> member_integer(const JsonNode& node, const std::string& path, const char* key, int64_t low,
                                        int64_t high) {
    const JsonNode* member = node.find(key);
    return member ? faults_.integer(*member, member_place(path, key), low, high) : std::nullopt;
  }

  template <class T>
  void read_section(const char* key, const JsonType<T>& type, T& value) {
    const JsonNode* node = document_.find(key);
    if (auto read = node ? type.read(*node, key, faults_) : std::nullopt) value = std::move(*read);
  }

  // Without a strategy mesh and sharding are required.
  run_file::Keys root_keys() const {
    run_file::Keys keys = run_file::root();
    for (run_file::Key& key : keys)
      key.required |= !document_.find("strategy") && (key.name == "mesh" || key.name == "sharding");
    return keys;
  }

  void read_options(const std::string& section, NamedOptions& named) {
    const JsonNode* node = document_.find(section);
    if (!node || !faults_.expect(*node, section, Kind::object, "an object")) return;
    const std::string choice = run_file::choice_key(section);
    for (size_t i = 0; i < node->items.size(); ++i) {
      const JsonNode& item = node->items[i];
      const std::string& key = node->keys[i];
      const std::string path = member_place(section, key);
      if (node->find(key) != &item) continue;
      if (key == choice) {
        if (!faults_.expect(item, path, Kind::string, "a name")) continue;
        if (item.text.empty()) faults_.fail(item.line, path, "empty_name", "the name is empty");
        named.name = item.text;
      } else {
        read_option(item, path, key, named);
      }
    }
    if (!node->find(choice)) {
      faults_.fail(node->line, member_place(section, choice), "missing_key", fmt::format("'{}' is missing", choice),
                   fmt::format("it says which {} is meant", section == "data" ? "data source" : section));
    }
  }

  // {"overrides": {"a": 1}} is the option "overrides.a".
  void read_option(const JsonNode& item, const std::string& path, const std::string& key, NamedOptions& named) {
    if (!item.is(Kind::object) || item.items.empty()) {
      if (auto value = option(item, path)) named.options.emplace_back(key, std::move(*value));
      return;
    }
    for (size_t i = 0; i < item.items.size(); ++i) {
      if (item.find(item.keys[i]) != &item.items[i]) continue;
      read_option(item.items[i], member_place(path, item.keys[i]), key + "." + item.keys[i], named);
    }
  }

  std::optional<OptionValue> option(const JsonNode& item, const std::string& path) {
    switch (item.kind) {
      case Kind::boolean: return item.boolean;
      case Kind::string: return item.text;
      case Kind::number:
        if (item.text.empty() || item.text.find_first_of(".eE") != std::string::npos) return item.number;
        faults_.fail(item.line, path, "out_of_range", fmt::format("{} is out of range", item.text),
                     fmt::format("integers reach {}", std::numeric_limits<int64_t>::max()));
        return std::nullopt;
      case Kind::integer: return item.integer;
      case Kind::array: return texts(item, path);
      case Kind::null:
      case Kind::object: break;
    }
    faults_.fail(item.line, path, "wrong_type",
                 fmt::format("expected a number, text, true, false or a list of texts, got {}", describe(item)));
    return std::nullopt;
  }

  TextList texts(const JsonNode& list, const std::string& path) {
    TextList result;
    for (size_t i = 0; i < list.items.size(); ++i) {
      faults_.expect(list.items[i], element_place(path, i), Kind::string, "text");
      result.push_back(list.items[i].text);
    }
    return result;
  }

  void read_mesh(RunConfig& config) {
    const JsonNode* mesh = document_.find("mesh");
    if (!mesh || !faults_.expect(*mesh, "mesh", Kind::object, "an object")) return;
    faults_.check_keys(*mesh, "mesh", run_file::mesh());
    const size_t errors_before = faults_.count();
    const JsonNode* axes = mesh->find("axes");
    if (axes && faults_.expect(*axes, "mesh.axes", Kind::array, "an array")) {
      for (size_t i = 0; i < axes->items.size(); ++i) {
        config.mesh_axes.push_back(axis(axes->items[i], element_place("mesh.axes", i)));
      }
    }
    const bool axes_read = axes && faults_.count() == errors_before;
    const JsonNode* devices = mesh->find("devices");
    if (devices && faults_.expect(*devices, "mesh.devices", Kind::array, "an array of device numbers")) {
      for (size_t i = 0; i < devices->items.size(); ++i) {
        auto device = faults_.integer(devices->items[i], element_place("mesh.devices", i), 0, Mesh::max_devices - 1);
        if (device) config.mesh_devices.push_back(static_cast<int>(*device));
      }
    }
    const bool devices_read = devices && config.mesh_devices.size() == devices->items.size();
    check_mesh(config, axes_read && devices_read);
    axes_known_ = axes_read;
  }

  MeshAxis axis(const JsonNode& node, const std::string& path) {
    MeshAxis result;
    if (!faults_.expect(node, path, Kind::object, "an object", "such as {\"name\": \"data\", \"size\": 4}"))
      return result;
    faults_.check_keys(node, path, run_file::mesh_axis());
    if (const JsonNode* name = node.find("name");
        name && faults_.expect(*name, path + ".name", Kind::string, "a name")) {
      result.name = name->text;
      axis_names_.push_back(path + ".name");
    }
    const JsonNode* size = node.find("size");
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    if (auto value = size ? faults_.integer(*size, path + ".size", -most - 1, most) : std::nullopt)
      result.size = *value;
    return result;
  }

  // The mesh's own checks; those of names that could not be read are already reported.
  void check_mesh(const RunConfig& config, bool with_devices) {
    std::vector<Error> found;
    try {
      Mesh(config.mesh_axes, with_devices ? config.mesh_devices : std::vector<int>{});
    } catch (const Failure& failure) {
      found = failure.errors();
    }
    for (Error& error : found) {
      const bool name_read = std::find(axis_names_.begin(), axis_names_.end(), error.place.path) != axis_names_.end();
      if (error.code != "axis_name" || name_read)
        faults_.fail(line_of(document_, error.place.path), error.place.path, error.code, error.message, error.hint);
    }
  }

  void read_sharding(RunConfig& config) {
    const JsonNode* node = document_.find("sharding");
    if (!node || !faults_.expect(*node, "sharding", Kind::object, "an object")) return;
    faults_.check_keys(*node, "sharding", run_file::sharding());
    if (const JsonNode* axes = node->find("mesh_axes")) check_mesh_axes(*axes, config);
    if (const JsonNode* mode = node->find("mode")) read_mode(*mode, config.sharding.mode);
    if (const JsonNode* in = node->find("in")) config.sharding.in = read_spec(*in, "sharding.in", faults_);
    if (const JsonNode* out = node->find("out")) config.sharding.out = read_spec(*out, "sharding.out", faults_);
    const JsonNode* parameters = node->find("parameters");
    if (parameters && faults_.expect(*parameters, "sharding.parameters", Kind::object, "an object",
                                     "such as {\"params\": {\"Embed_0\": {\"embedding\": [\"data\", \"model\"]}}}")) {
      config.sharding.parameters = read_parameter_specs(*parameters, "sharding.parameters", faults_);
    }
    const JsonNode* constraints = node->find("constraints");
    if (constraints && faults_.expect(*constraints, "sharding.constraints", Kind::object, "an object",
                                      "such as {\"**/gelu\": [\"data\", null, \"model\"]}")) {
      config.sharding.constraints = read_constraints(*constraints, "sharding.constraints", faults_);
    }
    const JsonNode* rules = node->find("rules");
    if (rules && faults_.expect(*rules, "sharding.rules", Kind::array, "an array of rules")) {
      config.sharding.rules = read_rules(*rules, "sharding.rules", faults_);
    }
    const JsonNode* zero = node->find("zero");
    if (auto read = zero ? zero_type().read(*zero, "sharding.zero", faults_) : std::nullopt)
      config.sharding.zero = std::move(*read);
    const JsonNode* keep = node->find("keep");
    if (keep && faults_.expect(*keep, "sharding.keep", Kind::array, "an array of mesh axes", "such as [\"tensor\"]")) {
      for (size_t i = 0; i < keep->items.size(); ++i) {
        if (faults_.expect(keep->items[i], element_place("sharding.keep", i), Kind::string, "a mesh axis"))
          config.sharding.keep.push_back(keep->items[i].text);
      }
    }
    constexpr int64_t most_mib = std::numeric_limits<int64_t>::max() >> 20;
    config.sharding.memory_limit_mib = member_integer(*node, "sharding", "memory_limit_mib", 1, most_mib);
  }

  void read_lint(LintConfig& lint) {
    constexpr const char* hint = "such as {\"off\": {\"bubble\": \"the batch is fixed\"}}";
    const JsonNode* node = document_.find("lint");
    if (!node || !faults_.expect(*node, "lint", Kind::object, "an object", hint)) return;
    faults_.check_keys(*node, "lint", run_file::lint());
    const JsonNode* off = node->find("off");
    if (!off || !faults_.expect(*off, "lint.off", Kind::object, "rules with reasons", hint)) return;
    for (size_t i = 0; i < off->items.size(); ++i) {
      const JsonNode& reason = off->items[i];
      const std::string place = member_place("lint.off", off->keys[i]);
      if (off->find(off->keys[i]) != &reason || !faults_.expect(reason, place, Kind::string, "a reason")) continue;
      if (reason.text.empty())
        faults_.fail(reason.line, place, "empty_name", "the reason is empty", "say why the rule does not hold here");
      lint.off.emplace_back(off->keys[i], reason.text);
    }
  }

  // What it says is judged where the run is planned.
  void read_machine(std::string& machine) {
    const JsonNode* node = document_.find("machine");
    if (!node) return;
    const char* hint = "such as \"host\", a machine's file, or {\"name\": \"host\", \"levels\": {...}}";
    if (!node->is(Kind::string) && !faults_.expect(*node, "machine", Kind::object, "a machine", hint)) return;
    if (!node->is(Kind::string) || node->text != run_file::this_host) machine = print_json_line(*node);
  }

  void read_stack(std::string& stack) {
    const JsonNode* node = document_.find("stack");
    if (!node) return;
    const char* hint = "such as \"megatron\", or {\"name\": \"megatron\", \"attention\": {\"kernel\": \"scores\"}}";
    if (!node->is(Kind::string) && !faults_.expect(*node, "stack", Kind::object, "a software stack", hint)) return;
    if (!node->is(Kind::string) || node->text != run_file::this_stack) stack = print_json_line(*node);
  }

  void check_mesh_axes(const JsonNode& node, const RunConfig& config) {
    const std::string path = "sharding.mesh_axes";
    if (!faults_.expect(node, path, Kind::array, "an array of axis names")) return;
    bool all_names = true;
    for (size_t i = 0; i < node.items.size(); ++i) {
      all_names &= faults_.expect(node.items[i], element_place(path, i), Kind::string, "an axis name");
    }
    if (!all_names || !axes_known_) return;
    auto same = [](const JsonNode& name, const MeshAxis& axis) { return name.text == axis.name; };
    if (std::equal(node.items.begin(), node.items.end(), config.mesh_axes.begin(), config.mesh_axes.end(), same))
      return;
    JsonNode expected = JsonNode::array();
    for (const MeshAxis& axis : config.mesh_axes) expected.items.push_back(JsonNode::of(axis.name));
    faults_.fail(node.line, path, "mesh_axes", "these are not the axes of the mesh",
                 "mesh.axes says " + print_json_line(expected) + "; write the same, or leave mesh_axes out");
  }

  void read_mode(const JsonNode& node, LayoutMode& mode) {
    if (!faults_.expect(node, "sharding.mode", Kind::string, "a mode", "\"fastest\" or \"as_written\"")) return;
    const std::vector<std::string>& modes = run_file::layout_modes();
    const std::string& name = node.text == run_file::former_name_of_fastest ? modes.front() : node.text;
    const auto at = std::find(modes.begin(), modes.end(), name);
    if (at == modes.end()) {
      faults_.fail(node.line, "sharding.mode", "unknown_mode", fmt::format("unknown mode '{}'", node.text),
                   name_hint(node.text, modes));
    } else {
      mode = static_cast<LayoutMode>(at - modes.begin());
    }
  }

  const JsonNode& document_;
  FaultList faults_;
  std::vector<std::string> axis_names_;  // places of those that could be read
  bool axes_known_ = false;
};

}  // namespace

RunConfig read_run_document(const JsonNode& document, const std::string& file_name, std::vector<Error>& errors) {
  return RunDocumentReader(document, file_name, errors).read();
}

}  // namespace shardscope
