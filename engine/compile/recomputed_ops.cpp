#include "engine/compile/recomputed_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "engine/base/name_pattern.h"
#include "engine/config/run_file_keys.h"
#include "engine/graph/casts.h"
#include "engine/graph/op_definition.h"
#include "engine/ops/registry.h"

namespace shardscope {

namespace {

constexpr int outside = -1;

// The first layer of each model chunk, ascending; of `layers` in each, or none: one chunk.
std::vector<int> first_layers(const std::vector<int>& layers) {
  std::vector<int> first{0};
  for (int of_chunk : layers) first.push_back(first.back() + of_chunk);
  return first;
}

// What of forward is recomputed together, by a policy.
class Regions {
 public:
  Regions(std::string policy, int64_t layers, const std::vector<int>& layers_of_chunks)
      : policy_(std::move(policy)), layers_(static_cast<int>(layers)), first_layers_(first_layers(layers_of_chunks)) {}

  // The first layer of those that the op is recomputed with; `outside` where it is kept.
  int of(const Op& op) const {
    const int layer = op.place.layer;
    if (op.phase != Phase::forward || layer < 0) return outside;
    if (policy_ == "full") {
      const int first = *std::prev(std::ranges::upper_bound(first_layers_, layer));
      return layer - (layer - first) % layers_;
    }
    const LayerPart part = policy_ == "attention" ? LayerPart::attention : LayerPart::mlp;
    return op.place.part == part ? layer : outside;
  }

 private:
  std::string policy_;
  int layers_;
  std::vector<int> first_layers_;
};

bool is_policy(const std::string& text) {
  return text != "none" && std::ranges::count(run_file::rematerialise_policies(), text) > 0;
}

void set_results(const Op& op, bool again, std::vector<bool>& values) {
  for (ValueId result : op.outputs) values[result] = again;
}

std::vector<bool> values_of_pattern(const Graph& graph, const std::string& pattern) {
  std::vector<bool> matching(graph.values.size());
  NamePatterns patterns;
  patterns.add(pattern, 0);
  for (const Op& op : graph.ops) {
    std::vector<int> found;
    if (op.phase == Phase::forward) patterns.match(op.name, found);
    set_results(op, !found.empty(), matching);
  }
  return matching;
}

std::vector<bool> values_of_policy(const Graph& graph, const Regions& regions) {
  std::vector<bool> again(graph.values.size());
  for (const Op& op : graph.ops) set_results(op, regions.of(op) != outside, again);
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    for (ValueId input : op.inputs) {
      const OpId producer = graph.values[input].producer;
      if (producer != no_id && regions.of(graph.ops[producer]) != regions.of(op)) again[input] = false;
    }
  }
  const std::vector<bool> of_states = ops_of_states(graph);
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    const bool enters = op.phase == Phase::forward && narrows(graph, op) && !again[op.inputs[0]];
    if (of_states[id] || enters) set_results(op, false, again);
  }
  for (const auto& [name, value] : graph.outputs) again[value] = false;
  return again;
}

std::vector<bool> values_of_entry(const Graph& graph, const std::string& entry, int64_t layers,
                                  const std::vector<int>& layers_of_chunks) {
  return is_policy(entry) ? values_of_policy(graph, Regions(entry, layers, layers_of_chunks))
                          : values_of_pattern(graph, entry);
}

Error names_no_op(const Graph& forward, const std::string& entry) {
  if (is_policy(entry)) {
    const std::string what = entry == "full" ? "layers" : entry == "mlp" ? "MLPs in layers" : "attention in layers";
    return {"rematerialise", fmt::format("'{}': the model has no {} whose results could be recomputed", entry, what),
            "schedule.rematerialise", R"("none", or a pattern of names of ops such as "**/gelu")"};
  }
  if (entry == "none") {
    return {"rematerialise", "'none' stands in a list", "schedule.rematerialise", "\"none\" alone, or leave it out"};
  }
  std::vector<std::string> names = run_file::rematerialise_policies();
  for (const Op& op : forward.ops) {
    if (op.phase == Phase::forward) names.push_back(op.name);
  }
  return {"rematerialise", fmt::format("no forward op is called '{}'", entry), "schedule.rematerialise",
          name_hint(entry, names)};
}

// Per op: whether it is of forward, in the last layer of a chunk but the last, and read in the layer behind.
std::vector<bool> ends_of_chunks(const Graph& graph, const std::vector<int>& layers) {
  const std::vector<int> first = first_layers(layers);
  std::vector<bool> ends(graph.ops.size());
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward || op.place.layer == 0 || !std::ranges::binary_search(first, op.place.layer))
      continue;
    for (ValueId input : op.inputs) {
      const OpId producer = graph.values[input].producer;
      if (producer != no_id && graph.ops[producer].place.layer == op.place.layer - 1) ends[producer] = true;
    }
  }
  return ends;
}

}  // namespace

std::vector<std::string> rematerialise_entries(const ScheduleConfig& schedule) {
  std::vector<std::string> entries = list_of_pattern(schedule.rematerialise);
  if (entries.empty()) entries.push_back(schedule.rematerialise);
  return entries;
}

std::vector<bool> recomputed_values(const Graph& graph, const ScheduleConfig& schedule,
                                    const std::vector<int>& layers) {
  std::vector<bool> again(graph.values.size());
  if (schedule.rematerialise == "none") return again;
  for (const std::string& entry : rematerialise_entries(schedule)) {
    const std::vector<bool> named = values_of_entry(graph, entry, schedule.rematerialised_layers, layers);
    std::transform(again.begin(), again.end(), named.begin(), again.begin(), std::logical_or());
  }
  return again;
}

std::vector<OpId> recomputed_casts(const Graph& graph, const std::set<std::string>& kept,
                                   const std::vector<bool>& again, const std::vector<int>& layers) {
  const std::vector<bool> of_states = values_of_states(graph), ends = ends_of_chunks(graph, layers);
  const OpDefinition& add = op_definition("add");
  std::vector<bool> in_backward(graph.values.size()), widened(graph.values.size()), chosen(graph.ops.size());
  for (const Op& op : graph.ops) {
    for (ValueId input : op.inputs) in_backward[input] = in_backward[input] || op.phase == Phase::backward;
  }
  const auto is_open = [&](size_t id) {
    const Op& op = graph.ops[id];
    return op.phase == Phase::forward && !again[op.outputs[0]] && !ends[id] && !of_states[op.outputs[0]] &&
           !kept.contains(op.name);
  };
  const auto is_there = [&](ValueId value) {
    return of_states[value] || (in_backward[value] && !widened[value] && !again[value]);
  };
  for (size_t id = 0; id < chosen.size(); ++id) {
    const Op& op = graph.ops[id];
    if (!is_open(id)) continue;
    const bool sum = op.definition == &add && ((widened[op.inputs[0]] && is_there(op.inputs[1])) ||
                                               (is_there(op.inputs[0]) && widened[op.inputs[1]]));
    // What the policy makes again, with what communication that takes, is not what a cast is made of here.
    const bool cast = widens(graph, op) && !again[op.inputs[0]];
    chosen[id] = widened[op.outputs[0]] = sum || cast;
  }
  for (size_t id = 0; id < chosen.size(); ++id) {
    if (is_open(id) && narrows(graph, graph.ops[id]) && is_there(graph.ops[id].inputs[0])) chosen[id] = true;
  }
  std::vector<OpId> list;
  for (size_t id = 0; id < chosen.size(); ++id) {
    if (chosen[id]) list.push_back(static_cast<OpId>(id));
  }
  return list;
}

std::vector<Error> check_rematerialisation(const Graph& forward, const ScheduleConfig& schedule) {
  std::vector<Error> errors;
  if (schedule.rematerialise == "none") return errors;
  for (const std::string& entry : rematerialise_entries(schedule)) {
    const std::vector<bool> named = values_of_entry(forward, entry, schedule.rematerialised_layers, {});
    if (std::ranges::find(named, true) == named.end()) errors.push_back(names_no_op(forward, entry));
  }
  return errors;
}

}  // namespace shardscope
