#include "engine/worker/data_source.h"

#include "engine/base/error.h"
#include "engine/worker/synthetic_lm.h"

namespace shardscope {

namespace {

struct Kind {
  const char* name;
  std::vector<OptionDefinition> options;
  std::unique_ptr<DataSource> (*make)(const OptionList& options, const Graph& graph);
};

std::unique_ptr<DataSource> make_synthetic(const OptionList& options, const Graph& graph) {
  const Shape& batch = graph.type(graph.inputs.at("tokens")).shape;
  const int64_t vocabulary = graph.type(graph.outputs.at("logits")).shape.back();
  return make_synthetic_lm(integer_option(options, "seed"), batch, vocabulary);
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"synthetic_lm",
       {{"batch_size", int64_t{64}, true, 1, 1e9, "sequences in one step"},
        {"seed", int64_t{0}, false, 0, 9e15, "seed of the tokens"}},
       make_synthetic},
  };
  return all;
}

}  // namespace

std::unique_ptr<DataSource> make_data_source(const NamedOptions& data, const Graph& graph) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    names.emplace_back(kind.name);
    if (kind.name != data.name) continue;
    std::vector<Error> errors;
    const OptionList options = resolve_options(kind.options, data.options, "data", errors);
    if (!errors.empty()) throw Failure(std::move(errors));
    return kind.make(options, graph);
  }
  throw Failure({"unknown_data", "there is no data source '" + data.name + "'", "data.kind", name_hint(data.name, names)});
}

}  // namespace shardscope
