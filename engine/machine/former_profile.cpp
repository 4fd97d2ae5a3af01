#include "engine/machine/former_profile.h"

#include "engine/config/fault_list.h"
#include "engine/machine/host_machine.h"

namespace shardscope {

namespace {

class ProfileReader {
 public:
  ProfileReader(const JsonNode& profile, FaultList& faults) : profile_(profile), faults_(faults) {}

  void number(const char* key, double& value) {
    const JsonNode* node = profile_.find(key);
    if (!node) return;
    if (node->is(JsonNode::Kind::integer)) {
      value = static_cast<double>(node->integer);
    } else if (faults_.expect(*node, key, JsonNode::Kind::number, "a number")) {
      value = node->number;
    }
  }

  void text(const char* key, std::string& value) {
    const JsonNode* node = profile_.find(key);
    if (node && faults_.expect(*node, key, JsonNode::Kind::string, "a text")) value = node->text;
  }

  std::vector<int> integers(const char* key) {
    std::vector<int> values;
    const JsonNode* node = profile_.find(key);
    if (!node || !faults_.expect(*node, key, JsonNode::Kind::array, "a list of numbers")) return values;
    for (const JsonNode& item : node->items) {
      if (const auto value = faults_.integer(item, key, 1, 1 << 20)) values.push_back(static_cast<int>(*value));
    }
    return values;
  }

 private:
  const JsonNode& profile_;
  FaultList& faults_;
};

}  // namespace

Machine machine_of_profile(const std::string& text, const std::string& name) {
  const JsonNode profile = read_json(text, name);
  std::vector<Error> errors;
  FaultList faults(name, errors);
  Machine machine = reference_host();
  Device& device = machine.device;
  Level& host = machine.levels.front();
  double cores = device.cores, memory_bytes = static_cast<double>(device.memory_bytes), bf16 = 0;
  if (faults.expect(profile, "", JsonNode::Kind::object, "an object")) {
    ProfileReader reader(profile, faults);
    reader.text("name", machine.name);
    reader.text("bf16_products", device.bf16_products);
    reader.number("cores", cores);
    reader.number("memory_bytes", memory_bytes);
    reader.number("matrix_flops_per_core", device.products[Precision::f32].flops_per_second);
    reader.number("matrix_flops_per_core_bf16", bf16);
    reader.number("memory_bytes_per_core", device.memory.back().bytes_per_second);
    reader.number("step_latency", device.instruction_latency);
    reader.number("collective_bytes_per_core", host.bytes_per_second);
    reader.number("collective_latency", host.latency);
    machine = with_hosts(std::move(machine), reader.integers("ranks_per_host"));
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  machine.device.cores = static_cast<int>(cores);
  machine.device.memory_bytes = static_cast<int64_t>(memory_bytes);
  if (bf16 > 0) machine.device.products[Precision::bf16].flops_per_second = bf16;
  return machine;
}

}  // namespace shardscope
