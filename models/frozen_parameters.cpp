#include "models/frozen_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/name_pattern.h"

namespace shardscope {

namespace {

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  for (StateId id : graph.parameters()) names.push_back(graph.name(graph.states[id]));
  return names;
}

void freeze(State& state) {
  state.trainable = false;
  state.frozen = true;
}

void freeze_matching(Graph& graph, const TextList& patterns, std::vector<Error>& errors) {
  NamePatterns all;
  for (size_t i = 0; i < patterns.size(); ++i) all.add(patterns[i], static_cast<int>(i));
  std::set<int> matched;
  for (StateId id : graph.parameters()) {
    std::vector<int> found;
    all.match(graph.name(graph.states[id]), found);
    matched.insert(found.begin(), found.end());
    if (!found.empty()) freeze(graph.states[id]);
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (matched.contains(static_cast<int>(i))) continue;
    errors.push_back({"unmatched", fmt::format("'{}' names no parameter", patterns[i]),
                      fmt::format("model.frozen[{}]", i), pattern_hint(patterns[i], names_of(graph))});
  }
}

void freeze_but_adapters(Graph& graph, const TextList& targets, std::vector<Error>& errors) {
  std::set<std::string> adapted, layers;
  for (StateId id : graph.parameters()) {
    State& state = graph.states[id];
    const bool adapter = is_of_adapter(state.path);
    if (!adapter) freeze(state);
    if (state.path.size() > 2) (adapter ? adapted : layers).insert(*(state.path.end() - (adapter ? 3 : 2)));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (adapted.contains(targets[i])) continue;
    errors.push_back({"unmatched", fmt::format("'{}' is no linear layer of the model", targets[i]),
                      fmt::format("model.lora.targets[{}]", i),
                      name_hint(targets[i], std::vector<std::string>(layers.begin(), layers.end()))});
  }
}

}  // namespace

std::vector<OptionDefinition> frozen_options() {
  return {{"frozen", TextList{}, false, 0, 0, "patterns of names of parameters that are not trained"},
          {"lora.rank", int64_t{0}, false, 0, 1e6, "rank of adapters, which alone are trained; 0: none"},
          {"lora.alpha", 16.0, false, 0, 1e9, "adapters count alpha / rank"},
          {"lora.targets", TextList{}, false, 0, 0,
           "last part of the names of layers with adapters; none: those that make queries and values"}};
}

bool is_of_adapter(const std::vector<std::string>& path) {
  return path.size() > 2 && (path[path.size() - 2] == "lora_A" || path[path.size() - 2] == "lora_B");
}

void freeze_parameters(Graph& graph, const OptionList& options) {
  std::vector<Error> errors;
  freeze_matching(graph, list_option(options, "frozen"), errors);
  const bool adapters = integer_option(options, "lora.rank") > 0;
  if (adapters) freeze_but_adapters(graph, list_option(options, "lora.targets"), errors);
  if (errors.empty() && graph.trainable().empty()) {
    errors.push_back({"nothing_trained", "all parameters are frozen", "model.frozen", "leave some to be trained"});
  }
  if (!errors.empty()) throw Failure(std::move(errors));
}

}  // namespace shardscope
