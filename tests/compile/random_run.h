#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/compile/compile.h"
#include "engine/config/run_config.h"

namespace shardscope::test {

// Legal runs of small decoders on random meshes of one to three axes, each parameter, input and output with a random
// spec that divides: any axis on any dimension, several on one in any order, or named and replicated, or not named.
// Half of them have rules for what is not named and for the optimizer's state.
class RandomRuns {
 public:
  explicit RandomRuns(uint32_t seed) : random_(seed) {}

  RunConfig next() {
    RunConfig config;
    const int64_t heads = pick({2, 4, 6});
    const int64_t width = heads * pick({2, 4, 6}), layers = pick({1, 2});
    const OptionList sizes{{"vocab_size", pick({24, 32, 1024})}, {"seq_len", pick({4, 12, 16})}};
    const OptionList data{{"batch_size", pick({4, 6, 12, 24})}};
    switch (below(3)) {
      case 0:
        config.model = {"decoder_only_transformer", sizes};
        add(config.model.options,
            {{"embed_dim", width}, {"num_layers", layers}, {"num_heads", heads}, {"dropout_rate", 0.25}});
        config.data = {"synthetic_lm", data};
        break;
      case 1:
        config.model = {"nnx_gpt2", sizes};
        add(config.model.options, {{"embed_dim", width}, {"num_layers", layers}, {"num_heads", heads}});
        config.data = {"random_rolled", data};
        break;
      default:
        config.model = {"tiny_lm", sizes};
        add(config.model.options, {{"d_model", width}, {"n_layers", layers}, {"n_heads", heads}, {"d_ff", 2 * width}});
        config.data = {"numpy_batches", data};
    }
    config.optimizer = {below(2) ? "adam" : "adamw", {{"learning_rate", 1e-3}}};
    config.deterministic = below(3) > 0;
    config.sharding.mode = below(2) ? LayoutMode::fastest : LayoutMode::as_written;
    const char* const names[] = {"data", "model", "expert"};
    for (int64_t axis = 0, count = 1 + below(3); axis < count; ++axis) {
      config.mesh_axes.push_back({names[axis], pick({1, 2, 2, 3, 4})});
    }
    const int devices = Mesh(config.mesh_axes).device_count();
    if (below(2)) {
      for (int device = 0; device < devices; ++device) config.mesh_devices.push_back(device);
      std::shuffle(config.mesh_devices.begin(), config.mesh_devices.end(), random_);
    }
    const int64_t batch = std::get<int64_t>(*config.data.find("batch_size"));
    const int64_t sequence = std::get<int64_t>(*config.model.find("seq_len"));
    config.sharding.in = spec({batch, sequence}, config.mesh_axes);
    config.sharding.out =
        spec({batch, sequence, std::get<int64_t>(*config.model.find("vocab_size"))}, config.mesh_axes);
    const bool by_rules = below(2);
    if (by_rules) add_rules(config);
    for (const ParameterInfo& parameter : list_parameters(config)) {
      if (below(by_rules ? 2 : 5) == 0) continue;
      config.sharding.parameters.push_back({parameter.path, spec(parameter.type.shape, config.mesh_axes)});
    }
    return config;
  }

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

 private:
  int64_t pick(const std::vector<int64_t>& choices) { return choices[below(static_cast<int64_t>(choices.size()))]; }

  static void add(OptionList& options, const OptionList& more) {
    options.insert(options.end(), more.begin(), more.end());
  }

  // Each logical name at most one axis, no axis twice; and the optimizer's state split by size over some axis.
  void add_rules(RunConfig& config) {
    LogicalAxes logical;
    std::vector<std::string> names{"embed", "mlp", "heads", "vocab"};
    std::shuffle(names.begin(), names.end(), random_);
    for (size_t axis = 0; axis < config.mesh_axes.size(); ++axis) {
      logical.axes.push_back({names[axis], {config.mesh_axes[axis].name}});
    }
    if (below(2)) config.sharding.rules.push_back({"**", logical});
    const MeshAxis& axis = config.mesh_axes[static_cast<size_t>(below(static_cast<int64_t>(config.mesh_axes.size())))];
    const LargestDimension largest{{axis.name}, pick({0, 64, 4096})};
    config.sharding.rules.push_back({"**", largest, {SpecKind::optimizer_state}});
    if (below(2)) config.sharding.rules.push_back({"**", largest});
  }

  PartitionSpec spec(const Shape& shape, std::vector<MeshAxis> axes) {
    PartitionSpec result;
    result.dims.resize(shape.size());
    Shape rest = shape;
    std::shuffle(axes.begin(), axes.end(), random_);
    for (const MeshAxis& axis : axes) {
      const size_t dim = static_cast<size_t>(below(static_cast<int64_t>(shape.size()) + 1));
      if (dim == shape.size() || rest[dim] % axis.size != 0) continue;
      rest[dim] /= axis.size;
      result.dims[dim].push_back(axis.name);
    }
    while (!result.dims.empty() && result.dims.back().empty() && below(2)) result.dims.pop_back();
    return result;
  }

  std::mt19937 random_;
};

}  // namespace shardscope::test
