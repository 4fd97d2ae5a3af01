#include "engine/machine/machine_keys.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/base/enum_count.h"
#include "engine/machine/product_efficiency.h"

namespace shardscope {

namespace {

// What of a machine or of the near future is outside of these is a fault of the file.
JsonType<double> rate() { return number(1e3, 1e20); }
JsonType<double> latency() { return number(0, 1e3); }
JsonType<double> share() { return number(1e-6, 1); }
JsonType<int64_t> capacity(int64_t least) { return integer<int64_t>(least, int64_t{1} << 60); }
constexpr int most_devices = 1 << 24;

template <class Enum>
Choices<Enum> all_of() {
  Choices<Enum> choices;
  for (size_t i = 0; i < enum_count<Enum>; ++i) {
    choices.emplace_back(std::string(name(static_cast<Enum>(i))), static_cast<Enum>(i));
  }
  return choices;
}

Choices<std::optional<InstructionKind>> collectives() {
  Choices<std::optional<InstructionKind>> choices = {{"any", std::nullopt}};
  for (InstructionKind kind :
       {InstructionKind::all_gather, InstructionKind::all_reduce, InstructionKind::reduce_scatter,
        InstructionKind::all_to_all, InstructionKind::collective_permute}) {
    choices.emplace_back(std::string(name(kind)), kind);
  }
  return choices;
}

JsonType<std::vector<ProductSample>> samples() {
  const auto size = [] { return integer<int64_t>(1, int64_t{1} << 40); };
  return list_of(ObjectKeys<ProductSample>("The product of an m x k by a k x n matrix.")
                     .required("m", &ProductSample::m, size(), "Rows of the left operand and of the result.")
                     .required("n", &ProductSample::n, size(), "Columns of the right operand and of the result.")
                     .required("k", &ProductSample::k, size(), "What is summed over.")
                     .required("efficiency", &ProductSample::efficiency, share(), "Share of the peak rate.")
                     .type());
}

void check_samples(const std::vector<ProductSample>& samples, const JsonNode* node, const std::string& place,
                   FaultList& faults) {
  std::set<std::array<int64_t, 3>> shapes;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (shapes.insert({samples[i].m, samples[i].n, samples[i].k}).second) continue;
    faults.fail(node->items[i].line, element_place(place, i), "duplicate_sample", "this shape has a sample already",
                "keep one of them");
  }
  if (const size_t nodes = ProductEfficiency::node_count(samples); nodes > ProductEfficiency::max_nodes) {
    faults.fail(
        node->line, place, "too_many_samples",
        fmt::format("distinct m x distinct n x distinct k are {}, more than {}", nodes, ProductEfficiency::max_nodes),
        "take the shapes from a grid");
  }
}

JsonType<ProductTile> product_tile() {
  const auto size = [] { return integer<int64_t>(1, 4096); };
  return ObjectKeys<ProductTile>("A kernel: each unit of the device makes one m x n tile of the result at a time.")
      .required("m", &ProductTile::m, size(), "Rows of a tile.")
      .required("n", &ProductTile::n, size(), "Columns of a tile.")
      .optional("depth", &ProductTile::depth, number(0, 1e6),
                "Steps along k that beginning and end of a tile take beside its k.")
      .optional("efficiency", &ProductTile::efficiency, share(), "Share of its part of the peak that a unit reaches.")
      .type();
}

JsonType<Evidence> evidence() {
  return ObjectKeys<Evidence>("How far predictions were from published measurements of this machine.")
      .optional("measurements", &Evidence::measurements, integer<int64_t>(0, 1000000),
                "That back the numbers; 0: unverified.")
      .optional("time_error", &Evidence::time_error, number(0, 100),
                "Mean of the absolute relative errors of step times of held-out measurements.")
      .optional("memory_measurements", &Evidence::memory_measurements, integer<int64_t>(0, 1000000),
                "Of these, with memory.")
      .optional("memory_error", &Evidence::memory_error, number(0, 100), "Likewise of memory.")
      .type();
}

JsonType<ProductRate> product_rate() {
  return ObjectKeys<ProductRate>("Matrix products in one precision.")
      .required("flops_per_second", &ProductRate::flops_per_second, rate(),
                "Peak, FLOP/s; of one core where ranks share the cores of a host.")
      .optional("units", &ProductRate::units, integer(1, 65536),
                "Of the device that tiles are spread over: multiprocessors, or matrix units.")
      .optional("flops_per_cycle", &ProductRate::flops_per_cycle, number(0, 1e9),
                "FLOP of one unit in a cycle, where the peak is published with it; 0: not known.")
      .optional("clock_hz", &ProductRate::clock_hz, number(0, 1e11),
                "Cycles in a second, 1/s: with which the peak follows; 0: not known.")
      .optional("tiles", &ProductRate::tiles, list_of(product_tile()),
                "Kernels to choose from; a product takes the fastest. Absent: the peak is reached at any shape.")
      .optional("efficiency", &ProductRate::efficiency, samples(),
                "Share of the peak that products of some shapes reach; between them it is interpolated. Absent: 1.")
      .optional("transposed_left", &ProductRate::transposed_left, samples(),
                "The same of products whose left operand is stored transposed. Absent: as the others.")
      .check([](const ProductRate& rate, const JsonNode& node, const std::string& place, FaultList& faults) {
        check_samples(rate.efficiency, node.find("efficiency"), member_place(place, "efficiency"), faults);
        check_samples(rate.transposed_left, node.find("transposed_left"), member_place(place, "transposed_left"),
                      faults);
      })
      .type();
}

JsonType<KernelRate> kernel_rate() {
  return ObjectKeys<KernelRate>("How one family of instructions uses the device.")
      .optional("efficiency", &KernelRate::efficiency, share(), "Share of the rate that limits it.")
      .optional("flops_per_second", &KernelRate::flops_per_second, map_of(choice(all_of<Precision>()), rate()),
                "By precision, FLOP/s (of one core where ranks share cores). Absent: the device's vector rate.")
      .type();
}

JsonType<MemoryLevel> memory_level() {
  return ObjectKeys<MemoryLevel>("One level of memory or cache.")
      .required("name", &MemoryLevel::name, text(), "As people call it.")
      .optional("capacity_bytes", &MemoryLevel::capacity_bytes, capacity(0),
                "Bytes; 0: unbounded, which the last level is in any case.")
      .required("bytes_per_second", &MemoryLevel::bytes_per_second, rate(), "B/s that one device, or core, streams.")
      .optional("shared", &MemoryLevel::shared, flag(),
                "Where ranks share the cores of a host: capacity and rate are those of all cores, not of one.")
      .type();
}

JsonType<Device> device() {
  return ObjectKeys<Device>("What a rank computes on.")
      .required("kind", &Device::kind, choice(all_of<DeviceKind>()),
                "own: each rank has a device of its own; host_cores: the ranks of a host share its cores evenly, and "
                "rates are of one core.")
      .optional("cores", &Device::cores, integer(1, 65536), "Of a host, where ranks share them.")
      .required("memory_bytes", &Device::memory_bytes, capacity(1), "Bytes of a device, or of a host for its ranks.")
      .optional("instruction_latency", &Device::instruction_latency, latency(), "Starting one instruction, s.")
      .optional("issue_seconds", &Device::issue_seconds, latency(),
                "Between two instructions at least: the program's own time to issue one, s.")
      .optional("issues_ahead", &Device::issues_ahead, flag(),
                "A program on the host issues instructions ahead of the device, which waits only where that is late. "
                "Without it each instruction takes the device at least issue_seconds.")
      .optional("memory_efficiency", &Device::memory_efficiency, share(),
                "Share of the outermost memory's rate that work which streams reaches.")
      .optional("vector_flops", &Device::vector_flops, number(0, 1e20),
                "FLOP/s of what is no matrix product; 0: it is priced by its bytes alone.")
      .required("memory", &Device::memory, list_of(memory_level(), 1), "Levels of memory, from inside out.")
      .required("products", &Device::products, map_of(choice(all_of<Precision>()), product_rate(), {"f32"}),
                "Matrix products by precision. One that is absent is computed in the next that can hold its values.")
      .optional("kernels", &Device::kernels, map_of(text(), kernel_rate()), "By family of instructions.")
      .optional("bf16_products", &Device::bf16_products, text(), "How they are computed, for people.")
      .check([](const Device& device, const JsonNode& node, const std::string& place, FaultList& faults) {
        const JsonNode& memory = *node.find("memory");
        for (size_t i = 0; i + 1 < device.memory.size(); ++i) {
          if (device.memory[i].capacity_bytes > 0) continue;
          const std::string at = element_place(member_place(place, "memory"), i);
          faults.fail(memory.items[i].line, member_place(at, "capacity_bytes"), "memory_capacity",
                      "only the last level of memory is unbounded", "give its capacity_bytes");
        }
      })
      .type();
}

JsonType<std::vector<int>> level_count() {
  const JsonType<int> one = integer(1, most_devices);
  const JsonType<std::vector<int>> number = {
      [=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::vector<int>> {
        const auto value = one.read(node, place, faults);
        return value ? std::optional(std::vector{*value}) : std::nullopt;
      },
      [=](const std::vector<int>& value) { return value.empty() ? JsonNode() : one.write(value[0]); }, one.schema};
  return either<std::vector<int>>(list_of(one), number, JsonNode::Kind::array,
                                  [](const std::vector<int>& value) { return value.size() > 1; });
}

JsonType<int> shared_by() {
  const Choices<int> words = {{"unit", Level::whole_unit}, {"host_cores", Level::host_cores}};
  return either<int>(choice(words), integer(1, most_devices), JsonNode::Kind::string,
                     [](const int& value) { return value < 1; });
}

void check_level(const Level& level, const JsonNode& node, const std::string& place, FaultList& faults) {
  const bool is_torus = level.kind == LevelKind::torus;
  if (is_torus == level.dims.empty()) {
    faults.fail(node.line, member_place(place, "dims"), "level_dims",
                is_torus ? "a torus has dimensions" : fmt::format("a {} has no dimensions", name(level.kind)),
                is_torus ? "such as \"dims\": [4, 4, 4]" : "leave dims out");
    return;
  }
  const bool is_ring = is_torus || level.kind == LevelKind::ring;
  const int64_t devices = std::accumulate(level.dims.begin(), level.dims.end(), int64_t{1}, std::multiplies<>());
  if (is_ring && level.count.size() > 1) {
    faults.fail(node.line, member_place(place, "count"), "level_count", "a ring or torus has one count");
  } else if (is_torus && (level.count.empty() || level.count[0] != devices)) {
    faults.fail(node.line, member_place(place, "count"), "level_count", "the count is the product of dims",
                fmt::format("{}", devices));
  }
}

JsonType<Level> level() {
  return ObjectKeys<Level>("What joins units of the level before (of the first: devices) to one unit of this.")
      .required("name", &Level::name, text_of_some_length(), "As people call it; other than those of the other levels.")
      .optional("count", &Level::count, level_count(),
                "How many units of the level before one unit has; a list: each unit, in order. Absent: as many as the "
                "run has (the last level alone).")
      .required("kind", &Level::kind, choice(all_of<LevelKind>()), "How they are joined.")
      .optional("dims", &Level::dims, list_of(integer(1, most_devices)), "Of a torus, major first.")
      .optional("wraps", &Level::wraps, flag(), "A ring or torus closes along each dimension of at least 3.")
      .required("bytes_per_second", &Level::bytes_per_second, rate(),
                "B/s of one link in one direction. A device has one link to a switch or to shared memory, two along "
                "each dimension of a ring or torus.")
      .optional("latency", &Level::latency, latency(),
                "Of one message, or of one rendezvous of a group in shared memory, s.")
      .optional("shared_by", &Level::shared_by, shared_by(),
                "How many devices share a link; unit: all of a unit of the level before; host_cores: the traffic is "
                "copying by the cores of a host, and the rate that of one core.")
      .optional(
          "message_efficiency", &Level::message_efficiency, share(),
          "Share of a link's rate that a message from one device to another reaches; of collectives their rules say.")
      .check(check_level)
      .type();
}

JsonType<CollectiveRule> collective_rule() {
  return ObjectKeys<CollectiveRule>("Which algorithm a collective takes; the first rule that fits decides.")
      .optional("collective", &CollectiveRule::collective, choice(collectives()), "Of this kind.")
      .optional("level", &CollectiveRule::level, text(),
                "Of groups whose members differ in this level, and in none outside of it. Absent: any.")
      .optional("up_to_bytes", &CollectiveRule::up_to_bytes, capacity(0), "Of at most this payload; 0: any.")
      .required("algorithm", &CollectiveRule::algorithm, choice(all_of<Algorithm>()), "How it is done.")
      .optional("efficiency", &CollectiveRule::efficiency, share(), "Share of the links' rate that is reached.")
      .optional("latency", &CollectiveRule::latency, latency(), "Of a call, beside that of its messages, s.")
      .optional("latency_per_member", &CollectiveRule::latency_per_member, latency(), "And for each member, s.")
      .type();
}

JsonType<OverlapRule> overlap_rule() {
  const auto slowdown = [] { return number(1, 1000); };
  return ObjectKeys<OverlapRule>("Two streams that may run at the same time: compute, or communication of a level.")
      .required("stream", &OverlapRule::stream, text(), "compute or the name of a level.")
      .required("beside", &OverlapRule::beside, text(), "The other: compute or the name of a level.")
      .optional("slowdown", &OverlapRule::slowdown, slowdown(),
                "How many times as long the stream takes while both run.")
      .optional("beside_slowdown", &OverlapRule::beside_slowdown, slowdown(), "How many times as long the other takes.")
      .type();
}

// Names of levels, and what speaks of them.
void check_machine(const Machine& machine, const JsonNode& node, const std::string&, FaultList& faults) {
  std::vector<std::string> streams = {"compute"};
  const auto fail = [&](const char* list, size_t i, const char* key, const char* code, const std::string& message,
                        const std::string& hint) {
    const JsonNode& item = node.find(list)->items[i];
    const JsonNode* value = item.find(key);
    faults.fail(value ? value->line : item.line, member_place(element_place(list, i), key), code, message, hint);
  };
  for (size_t i = 0; i < machine.levels.size(); ++i) {
    const Level& level = machine.levels[i];
    const bool is_last = i + 1 == machine.levels.size();
    if (std::ranges::find(streams, level.name) != streams.end()) {
      fail("levels", i, "name", "duplicate_name", fmt::format("'{}' is taken", level.name), "names must differ");
    }
    streams.push_back(level.name);
    if (!is_last && level.count.empty()) {
      fail("levels", i, "count", "level_count", "only the last level has as many units as the run", "give its count");
    } else if (is_last && level.count.size() > 1) {
      fail("levels", i, "count", "level_count", "the last level is one unit, and has one count", "");
    }
    if (level.shared_by == Level::host_cores && machine.device.kind == DeviceKind::own) {
      fail("levels", i, "shared_by", "host_cores", "the device has no cores that its ranks share",
           "a number, or a device of kind host_cores");
    }
  }
  const auto require_stream = [&](const char* list, size_t i, const char* key, const std::string& stream) {
    if (std::ranges::find(streams, stream) != streams.end()) return;
    fail(list, i, key, "unknown_level", fmt::format("unknown level '{}'", stream), name_hint(stream, streams));
  };
  for (size_t i = 0; i < machine.overlap.size(); ++i) {
    require_stream("overlap", i, "stream", machine.overlap[i].stream);
    require_stream("overlap", i, "beside", machine.overlap[i].beside);
  }
  streams.erase(streams.begin());
  for (size_t i = 0; i < machine.collectives.size(); ++i) {
    const std::string& level = machine.collectives[i].level;
    if (!level.empty()) require_stream("collectives", i, "level", level);
  }
}

}  // namespace

const JsonType<Machine>& machine_type() {
  static const JsonType<Machine> type =
      ObjectKeys<Machine>("What a program runs on: devices and the links that join them.")
          .required("name", &Machine::name, text(), "As people call it.")
          .required("device", &Machine::device, device(), "What a rank computes on.")
          .optional("levels", &Machine::levels, list_of(level()),
                    "How devices are joined, from inside out. Absent: there is one device.")
          .optional("collectives", &Machine::collectives, list_of(collective_rule()),
                    "Which algorithms collectives take. Where no rule fits: direct on shared memory, ring elsewhere.")
          .optional("overlap", &Machine::overlap, list_of(overlap_rule()),
                    "Which streams may run at the same time; all others run one after the other.")
          .optional("price_per_device_hour", &Machine::price_per_device_hour, number(0, 1e6),
                    "What an hour of a device costs, in any currency; 0: not known.")
          .optional("evidence", &Machine::evidence, evidence(), "By how many measurements the numbers are backed.")
          .check(check_machine)
          .type();
  return type;
}

}  // namespace shardscope
