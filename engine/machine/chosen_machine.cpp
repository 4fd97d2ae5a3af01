#include "engine/machine/chosen_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>

#include "engine/base/plural.h"
#include "engine/config/write.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/json_changes.h"
#include "engine/machine/machine_keys.h"
#include "engine/machine/machine_library.h"
#include "engine/machine/topology.h"

namespace shardscope {

namespace {

constexpr const char* root = "machine";
constexpr const char *nodes_key = "nodes", *devices_key = "devices";

// Of the level below in each unit of a level; 1 where it has as many as the run.
int64_t unit_count(const JsonNode& level) {
  const JsonNode* count = level.find("count");
  if (!count) return 1;
  return count->is(JsonNode::Kind::integer) ? count->integer : count->items.front().integer;
}

bool is_whole(const JsonNode& value) {
  const JsonNode* device = value.find("device");
  return device && device->is(JsonNode::Kind::object) && device->find("kind");
}

Machine read_machine(const JsonNode& node) {
  std::vector<Error> errors;
  FaultList faults("", errors);
  faults.check_repeated_keys(node, root);
  std::optional<Machine> machine = machine_type().read(node, root, faults);
  if (!errors.empty()) throw Failure(std::move(errors));
  return std::move(*machine);
}

// The text of a value that names a machine, this host too; null where it names none.
JsonNode* find_name(JsonNode& value) {
  if (value.is(JsonNode::Kind::string)) return &value;
  JsonNode* name = is_whole(value) ? nullptr : value.find("name");
  return name && name->is(JsonNode::Kind::string) ? name : nullptr;
}

// The most compact box of so many devices in a torus; empty: there is none.
std::vector<int64_t> box_in(std::span<const int64_t> dims, int64_t devices) {
  if (dims.empty()) return {};
  if (dims.size() == 1) return devices <= dims[0] ? std::vector{devices} : std::vector<int64_t>();
  std::vector<int64_t> best;
  for (int64_t size = 1; size <= std::min(dims[0], devices); ++size) {
    if (devices % size != 0) continue;
    std::vector<int64_t> box = box_in(dims.subspan(1), devices / size);
    if (box.empty()) continue;
    box.insert(box.begin(), size);
    if (best.empty() || std::reduce(box.begin(), box.end()) < std::reduce(best.begin(), best.end()))
      best = std::move(box);
  }
  return best;
}

// Of a machine of pods, whose innermost level is a torus and whose others are not cut; else empty.
std::vector<int64_t> pod_of(const JsonNode& levels) {
  std::vector<int64_t> sizes;
  const JsonNode* dims = levels.items.size() == 2 ? levels.items.front().find("dims") : nullptr;
  for (size_t i = 0; dims && i < dims->items.size(); ++i) sizes.push_back(dims->items[i].integer);
  return sizes;
}

// Has a slice of so many devices in place of its pod, where that has one; its dimensions are open.
void take_slice(JsonNode& levels, int64_t devices) {
  JsonNode& torus = levels.items.front();
  const std::vector<int64_t> box = box_in(pod_of(levels), devices);
  if (box.empty() || devices >= unit_count(torus)) return;
  for (size_t i = 0; i < box.size(); ++i) torus.find("dims")->items[i] = JsonNode::of(box[i]);
  *torus.find("count") = JsonNode::of(devices);
  torus.remove("wraps");
  torus.add("wraps", JsonNode::of(false));
}

// " or a slice: 72, 75", the nearest; empty: a node is not cut.
std::string near_slices(const JsonNode& levels, int64_t devices, int64_t of_node) {
  const std::vector<int64_t> pod = pod_of(levels);
  if (pod.empty() || devices > of_node) return {};
  int64_t below = devices, above = devices;
  while (below > 1 && box_in(pod, below).empty()) --below;
  while (above < of_node && box_in(pod, above).empty()) ++above;
  return fmt::format(" or a slice: {}, {}", below, above);
}

// How many units a machine has on its outermost level, by `nodes`, or by `devices`: taken out of what is changed.
void take_size(JsonNode& changes, JsonNode& whole) {
  JsonNode* levels = whole.find("levels");
  std::optional<int64_t> by_nodes;
  for (const char* key : {nodes_key, devices_key}) {
    const JsonNode* said = changes.find(key);
    if (!said) continue;
    const std::string place = member_place(root, key);
    const auto fail = [&](const std::string& message, const std::string& hint) {
      throw Failure(Error{"machine_size", message, place, hint});
    };
    if (!said->is(JsonNode::Kind::integer) || said->integer < 1 || said->integer > 1 << 24)
      fail(fmt::format("{} is no number of {}", print_json_line(*said), key), "a number from 1 to 16777216");
    if (whole.find("device")->find("kind")->text == name(DeviceKind::host_cores))
      fail("the hosts of such a machine are those that the run file lists", R"(give them under "hosts": "h0:4,h1:4")");
    if (!levels || levels->items.empty()) fail("this machine is one device alone", "leave the key out");
    int64_t count = said->integer, of_node = 1;
    if (std::string_view(key) == devices_key) {
      if (!by_nodes) take_slice(*levels, count);
      for (size_t i = 0; i + 1 < levels->items.size(); ++i) of_node *= unit_count(levels->items[i]);
      if (count % of_node != 0)
        fail(fmt::format("a node has {}, of which {} is no multiple", of_node, count),
             fmt::format("a multiple of {}{}", of_node, near_slices(*levels, count, of_node)));
      count /= of_node;
      if (by_nodes && *by_nodes != count)
        fail(fmt::format("{} are {}, not {}", counted(said->integer, "device"), counted(count, "node"), *by_nodes),
             fmt::format("leave one of them out, or {}", *by_nodes * of_node));
    } else {
      by_nodes = count;
    }
    JsonNode& outermost = levels->items.back();
    outermost.remove("count");
    outermost.add("count", JsonNode::of(count));
    changes.remove(key);
  }
}

constexpr const char *rate_key = "bytes_per_second", *latency_key = "latency";

// What a value says of the network: in a list of levels, or by its name.
JsonNode* find_network(JsonNode& value) {
  JsonNode* levels = value.find("levels");
  if (!levels) return nullptr;
  if (levels->is(JsonNode::Kind::object)) return levels->find(network_name);
  for (JsonNode& level : levels->items) {
    const JsonNode* name = level.find("name");
    if (name && name->text == network_name) return &level;
  }
  return nullptr;
}

std::optional<double> number_at(const JsonNode& node, const char* key) {
  const JsonNode* member = node.find(key);
  if (!member || (!member->is(JsonNode::Kind::number) && !member->is(JsonNode::Kind::integer))) return std::nullopt;
  return member->is(JsonNode::Kind::integer) ? static_cast<double>(member->integer) : member->number;
}

}  // namespace

Machine chosen_machine(const std::string& json, const std::vector<int>& ranks_per_host, const Stack& stack) {
  JsonNode value = json.empty() ? JsonNode::of(std::string(host_name)) : read_json(json, root);
  if (is_whole(value)) return with_hosts(read_machine(value), ranks_per_host);
  const JsonNode* named = find_name(value);
  const std::string name(named ? named->text : host_name);
  const Machine found = with_hosts(find_machine(name), ranks_per_host);
  const auto of_stack = stack.machines.find(name);
  const bool is_changed = of_stack != stack.machines.end();
  if (value.is(JsonNode::Kind::string) && !is_changed) return found;
  JsonNode whole = machine_type().write(found);
  const JsonNode own_name = *whole.find("name");
  if (is_changed) apply_changes(whole, read_json(of_stack->second, "stack"), "stack.machines." + name);
  if (value.is(JsonNode::Kind::object)) {
    take_size(value, whole);
    apply_changes(whole, value, root);
  }
  *whole.find("name") = own_name;
  return read_machine(whole);
}

std::optional<MachineSize> machine_size(const std::string& json) {
  const JsonNode value = json.empty() ? JsonNode() : read_json(json, root);
  if (value.is(JsonNode::Kind::object) && !is_whole(value))
    for (const char* key : {nodes_key, devices_key})
      if (const JsonNode* said = value.find(key)) return MachineSize{key, said->integer};
  return std::nullopt;
}

std::string with_devices(const std::string& json, int64_t devices) {
  if (!machine_size(json)) return json;
  std::vector<Level> levels;
  try {
    levels = chosen_machine(json, {}).levels;
  } catch (const Failure&) {
    return json;
  }
  const std::optional<int64_t> limit = device_limit(levels);
  if (!limit || *limit >= devices) return json;
  const int64_t of_node = *limit / levels.back().count.front();
  const int64_t nodes = (devices + of_node - 1) / of_node;
  JsonNode value = read_json(json, root);
  if (JsonNode* said = value.find(nodes_key)) *said = JsonNode::of(nodes);
  if (JsonNode* said = value.find(devices_key)) *said = JsonNode::of(nodes * of_node);
  return print_json_line(value);
}

std::string machine_choice(const std::string& name) {
  return name == host_name ? std::string() : print_json_line(JsonNode::of(name));
}

std::string machine_choice(Machine machine) {
  for (Level& level : machine.levels) {
    if (level.kind == LevelKind::shared_memory && level.count.size() > 1) level.count = {std::ranges::max(level.count)};
  }
  return print_json_line(machine_type().write(machine));
}

std::string machine_file(const std::string& json) {
  JsonNode value = json.empty() ? JsonNode() : read_json(json, root);
  const JsonNode* name = find_name(value);
  return name && name->text != host_name && !is_in_library(name->text) ? name->text : std::string();
}

std::string with_machine_file(const std::string& json, const std::string& path) {
  JsonNode value = read_json(json, root);
  *find_name(value) = JsonNode::of(path);
  return print_json_line(value);
}

NetworkChoice network_choice(const std::string& json) {
  NetworkChoice choice;
  JsonNode value = json.empty() ? JsonNode() : read_json(json, root);
  const JsonNode* network = find_network(value);
  if (!network) return choice;
  choice.bytes_per_second = number_at(*network, rate_key);
  choice.latency = number_at(*network, latency_key);
  return choice;
}

std::string with_network(const std::string& json, const NetworkChoice& network) {
  if (network == network_choice(json)) return json;
  JsonNode value = json.empty() ? JsonNode::of(std::string(host_name)) : read_json(json, root);
  if (value.is(JsonNode::Kind::string)) value = json_object({{"name", value}});
  JsonNode* level = find_network(value);
  if (!level && is_whole(value)) return json;
  if (!level) {
    JsonNode* levels = value.find("levels");
    if (!levels) levels = &value.add("levels", JsonNode::object());
    level = &levels->add(network_name, JsonNode::object());
  }
  for (const auto& [key, number] : {std::pair(rate_key, network.bytes_per_second), {latency_key, network.latency}}) {
    if (!number && is_whole(value)) continue;
    level->remove(key);
    if (number) level->add(key, JsonNode::of(*number));
  }
  if (level->keys.empty()) {
    value.find("levels")->remove(network_name);
    if (value.find("levels")->keys.empty()) value.remove("levels");
    if (value.keys.size() == 1) value = JsonNode(*value.find("name"));
    if (value.is(JsonNode::Kind::string) && value.text == host_name) return {};
  }
  return print_json_line(value);
}

}  // namespace shardscope
