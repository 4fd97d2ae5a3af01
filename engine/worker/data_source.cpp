#include "engine/worker/data_source.h"

#include <map>

#include "engine/base/error.h"
#include "engine/compile/data_options.h"
#include "engine/worker/synthetic_lm.h"

namespace shardscope {

namespace {

using Maker = std::unique_ptr<DataSource> (*)(const OptionList& options, const Graph& graph);

std::unique_ptr<DataSource> make_synthetic(const OptionList& options, const Graph& graph) {
  const Shape& batch = graph.type(graph.inputs.at("tokens")).shape;
  const int64_t vocabulary = graph.type(graph.outputs.at("logits")).shape.back();
  return make_synthetic_lm(integer_option(options, "seed"), batch, vocabulary);
}

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> all = {{"synthetic_lm", make_synthetic}};
  return all;
}

}  // namespace

std::unique_ptr<DataSource> make_data_source(const NamedOptions& data, const Graph& graph) {
  const auto maker = makers().find(data.name);
  const DataKind* kind = find_data_kind(data.name);
  if (maker == makers().end() || !kind) {
    std::vector<std::string> names;
    for (const auto& [name, make] : makers()) names.push_back(name);
    throw Failure(
        {"unknown_data_kind", "unknown data_kind '" + data.name + "'", "data.kind", name_hint(data.name, names)});
  }
  std::vector<Error> errors;
  const OptionList options = resolve_options(kind->options, data.options, "data", errors);
  if (!errors.empty()) throw Failure(std::move(errors));
  return maker->second(options, graph);
}

}  // namespace shardscope
