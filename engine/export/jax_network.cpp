#include "engine/export/jax_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/jax_function.h"
#include "engine/export/jax_source.h"

namespace shardscope {

namespace {

std::map<std::string_view, ValueId> values_by_name(const Graph& graph) {
  std::map<std::string_view, ValueId> values;
  for (size_t i = 0; i < graph.values.size(); ++i) values.emplace(graph.values[i].name, static_cast<ValueId>(i));
  return values;
}

bool may_be_pinned(const JaxArray& array) {
  return array.resolved.pinned && (array.target.kind == SpecKind::activation || array.target.kind == SpecKind::output);
}

void find_pinned(JaxFunctions& all, const JaxArrays& arrays) {
  const auto values = values_by_name(all.graph);
  for (const JaxArray& array : arrays.arrays) {
    const auto value = values.find(array.value_name);
    if (may_be_pinned(array) && value != values.end()) {
      all.pinned.emplace(value->second, python_spec(array.resolved.spec));
    }
  }
}

void check_constrained(const JaxFunctions& all, const JaxArrays& arrays) {
  const auto values = values_by_name(all.graph);
  for (const JaxArray& array : arrays.arrays) {
    const auto value = values.find(array.value_name);
    if (!may_be_pinned(array) || (value != values.end() && all.constrained.contains(value->second))) continue;
    throw Failure(not_exportable(fmt::format("the program has no variable for '{}'", array.name), array.resolved.place,
                                 "leave it out"));
  }
}

void find_reads(JaxFunctions& all) {
  const Graph& graph = all.graph;
  all.readers.resize(graph.values.size());
  all.read.resize(graph.ops.size());
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    if (graph.ops[id].phase != Phase::forward) continue;
    const auto note = [&](ValueId value, Binding) {
      all.read[id].push_back(value);
      return std::string("_");
    };
    jax_text(all, static_cast<OpId>(id), note, [](const StepKey&) { return std::string(); });
  }
}

// Ops that outputs, or pinned values, are made of.
std::vector<OpId> find_used(JaxFunctions& all) {
  const Graph& graph = all.graph;
  std::vector<bool> used(graph.values.size());
  for (const auto& [name, value] : graph.outputs) used[static_cast<size_t>(value)] = true;
  for (const auto& [value, spec] : all.pinned) used[static_cast<size_t>(value)] = true;
  std::vector<OpId> ops;
  for (auto id = static_cast<OpId>(graph.ops.size()) - 1; id >= 0; --id) {
    const Op& op = graph.ops[id];
    const bool is_used =
        std::ranges::any_of(op.outputs, [&](ValueId value) { return used[static_cast<size_t>(value)]; });
    if (op.phase != Phase::forward || !is_used || !find_jax_op(op.definition->name())->text) continue;
    ops.push_back(id);
    for (ValueId value : all.read[static_cast<size_t>(id)]) {
      used[static_cast<size_t>(value)] = true;
      all.readers[static_cast<size_t>(value)].push_back(id);
    }
  }
  std::ranges::reverse(ops);
  for (auto& readers : all.readers) std::ranges::reverse(readers);
  return ops;
}

// The functions of ops, in the order in which they are first called.
std::string helpers_of(JaxFunctions& all, const std::vector<OpId>& ops) {
  std::set<std::string_view> flags;
  std::vector<std::string_view> sources;
  const auto add = [&](std::string_view source) {
    if (!source.empty() && std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
  };
  for (OpId id : ops) {
    const Op& op = all.graph.ops[id];
    const JaxOp& of_jax = *find_jax_op(op.definition->name());
    if (of_jax.flags) of_jax.flags(op, flags);
    if (flags.contains("drops")) add(find_jax_op("dropout")->helper);
    add(of_jax.helper);
  }
  std::string text;
  for (std::string_view source : sources) {
    for (size_t at = source.find("\ndef "); at != std::string_view::npos; at = source.find("\ndef ", at + 1)) {
      all.taken.emplace(source.substr(at + 5, source.find('(', at) - at - 5));
    }
    text += jax_lines(source, flags) + "\n\n";
  }
  return text;
}

std::string losses_text(const JaxFunctions& all, const JaxBlocks& blocks) {
  const auto call = [&](int block) {
    const JaxFunction& function = all.functions[static_cast<size_t>(block)];
    std::vector<std::string> arguments;
    if (function.takes_params) arguments.emplace_back("params[\"params\"]");
    if (function.takes_keys) arguments.emplace_back("keys");
    for (ValueId value : function.arguments) {
      const Value& of = all.graph.values[value];
      arguments.push_back(of.kind == ValueKind::input ? fmt::format("batch[{}]", python_text(of.name)) : "outputs");
    }
    return fmt::format("{}({})", function.name, fmt::join(arguments, ", "));
  };
  if (blocks.losses < 0) return fmt::format("    return {}\n", call(blocks.model));
  return fmt::format("    outputs = {}\n    return {}\n", call(blocks.model), call(blocks.losses));
}

}  // namespace

JaxNetwork jax_network(const Graph& forward, const JaxArrays& arrays, const ScheduleConfig& schedule,
                       const std::pair<std::string, int64_t>& layers, const std::function<void(double share)>& tell) {
  JaxFunctions all{forward, {}, layers, {}, {}, {}, {}, {}, {}, {}, {}};
  all.taken = {"params", "keys",  "batch", "mesh", "i",    "function", "model", "losses", "constrain", "shardings",
               "jax",    "numpy", "optax", "nn",   "json", "lambda",   "in",    "is",     "if",        "as"};
  find_pinned(all, arrays);
  find_reads(all);
  const std::vector<OpId> ops = find_used(all);
  JaxNetwork network;
  network.source = helpers_of(all, ops);
  const JaxBlocks blocks = jax_blocks(forward, ops, all.read, schedule);
  for (const JaxBlock& block : blocks.blocks) {
    tell(static_cast<double>(all.functions.size()) / static_cast<double>(blocks.blocks.size()));
    if (block.name == "model" || block.name == "losses") all.taken.erase(block.name);
    write_jax_function(all, blocks);
  }
  check_constrained(all, arrays);
  for (const std::string& text : all.texts) network.source += text + "\n\n";
  network.losses = losses_text(all, blocks);
  network.dropped = all.dropped;
  return network;
}

}  // namespace shardscope
