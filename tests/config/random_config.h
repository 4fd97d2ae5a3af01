#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "engine/base/name_pattern.h"
#include "engine/config/run_config.h"

namespace shardscope::test {

// Configs that a run file can say, with names, numbers and orders that a careless reader or writer would get wrong.
class RandomConfigs {
 public:
  explicit RandomConfigs(uint32_t seed) : random_(seed) {}

  RunConfig next() {
    RunConfig config;
    config.model = options("size");
    config.data = options("seed");
    if (below(4)) config.optimizer = options("rate");
    const int axes = below(4);
    int64_t devices = 1;
    for (int i = 0; i < axes; ++i) {
      std::string axis = name();
      if (axis == "\n") axis = "n";  // a mesh axis has a name that can be shown
      config.mesh_axes.push_back({axis + std::to_string(i), 1 + below(4)});
      devices *= config.mesh_axes.back().size;
    }
    if (below(2)) {
      for (int d = 0; d < devices; ++d) config.mesh_devices.push_back(d);
      std::shuffle(config.mesh_devices.begin(), config.mesh_devices.end(), random_);
    }
    config.sharding.mode = below(2) ? LayoutMode::fastest : LayoutMode::as_written;
    config.sharding.in = spec();
    config.sharding.out = spec();
    add_parameters({}, 3, config.sharding.parameters);
    for (int i = below(3); i > 0; --i) config.sharding.constraints.push_back({pattern() + std::to_string(i), spec()});
    for (int i = below(4); i > 0; --i) config.sharding.rules.push_back(rule());
    if (below(2)) config.sharding.memory_limit_mib = 1 + below(100000);
    if (below(4) == 0) config.sharding.keep = {name(), name()};
    if (below(2)) config.sharding.zero.stage = below(4);
    for (int i = below(3); i > 0; --i) config.sharding.zero.axes.push_back(name());
    config.schedule.microbatches = 1 + below(3);
    if (below(2)) config.schedule.rematerialise = pattern();
    if (below(4) == 0) config.schedule.rematerialise = pattern_of_list({"mlp", pattern(), "a/{b,c}"});
    config.schedule.rematerialised_layers = 1 + below(2);
    config.schedule.overlap = below(2) ? OverlapMode::automatic : OverlapMode::off;
    if (below(2)) config.precision = precision();
    if (below(2)) {
      static const char* const schedules[] = {"gpipe", "1f1b", "interleaved", "zero_bubble"};
      config.pipeline = {name(), schedules[below(4)], 1 + below(3), {}};
      for (int i = below(4); i > 0; --i) config.pipeline.layers.push_back(1 + below(9));
    }
    for (int i = below(3); i > 0; --i) config.lint.off.emplace_back(name() + std::to_string(i), "because");
    if (below(3) == 0)
      config.stack = below(2) ? R"("megatron")" : R"({"name": "maxtext", "overlap": {"tensor": false}})";
    config.seed = below(3) ? below(1000) : INT64_MAX - below(2);
    config.steps = 1 + below(100);
    config.deterministic = below(2) == 1;
    return config;
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  std::string name() {
    static const char* const names[] = {"data", "model", "params", "Dense_0", "a b", "layer.0", "\"quoted\"", "ünï",
                                        "[0]",  "x=y",   "\\",     "\n",      "k",   "{}",      "axes",       "null"};
    return names[below(16)];
  }

  PartitionSpec spec() {
    PartitionSpec result;
    for (int rank = below(4); rank > 0; --rank) {
      result.dims.push_back(axes(below(3)));
    }
    return result;
  }

  std::string pattern() {
    static const char* const patterns[] = {"**", "**/kernel", "params/Dense_*/kernel", "*", "a*b/**/c", "x.y"};
    return below(2) ? patterns[below(6)] : name();
  }

  SpecRule rule() {
    SpecRule result;
    if (below(2)) result.names = pattern();
    switch (below(3)) {
      case 0: result.placement = spec(); break;
      case 1: {
        LogicalAxes logical;
        for (int i = below(4); i > 0; --i) logical.axes.emplace_back(name() + std::to_string(i), axes(below(3)));
        result.placement = logical;
        break;
      }
      default: result.placement = LargestDimension{axes(1 + below(2)), below(2) ? below(1 << 20) : 0};
    }
    if (std::holds_alternative<LogicalAxes>(result.placement) && below(3) == 0) result.dimensions = {name(), name()};
    if (below(2)) return result;
    result.of.clear();
    const int first = below(6);
    for (int kind = 0; kind < 6; ++kind) {
      if (kind == first || below(2)) result.of.push_back(static_cast<SpecKind>(kind));
    }
    return result;
  }

  PrecisionConfig precision() {
    PrecisionConfig result;
    if (below(2)) {
      static const char* const recipes[] = {"f32", "bf16", "bf16_mixed", "f16_mixed", "fp8_mixed"};
      result.recipe = recipes[below(5)];
      return result;
    }
    static const char* const types[] = {"", "f32", "bf16", "f16"};
    for (std::string* type :
         {&result.compute, &result.parameters, &result.gradients, &result.reduction, &result.moments}) {
      *type = types[below(4)];
    }
    if (below(2)) result.master = below(2) ? "f32" : "none";
    return result;
  }

  std::vector<std::string> axes(int count) {
    std::vector<std::string> result;
    for (; count > 0; --count) result.push_back(name());
    return result;
  }

  double real() {
    switch (below(6)) {
      case 0: return 0.0;
      case 1: return 1e-3;
      case 2: return static_cast<double>(below(100));
      case 3: return 1e300 * below(10);
      case 4: return -5e-324;
      default: return std::uniform_real_distribution<double>(-1, 1)(random_);
    }
  }

  std::mt19937& engine() { return random_; }

 private:
  NamedOptions options(const std::string& prefix) {
    NamedOptions result{name(), {}};
    for (int i = below(6); i > 0; --i) {
      OptionValue value;
      switch (below(5)) {
        case 0: value = below(2) == 1; break;
        case 1: value = below(2) ? int64_t{below(2000)} - 1000 : INT64_MIN + below(2); break;
        case 2: value = real(); break;
        case 3: value = axes(below(4)); break;
        default: value = name();
      }
      result.options.emplace_back(prefix + std::to_string(i), value);
    }
    return result;
  }

  void add_parameters(const std::vector<std::string>& path, int depth, std::vector<ParameterSpec>& parameters) {
    for (int i = below(4); i > 0; --i) {
      std::vector<std::string> inner = path;
      inner.push_back((below(4) ? name() : "Block_*") + std::to_string(i));
      if (depth > 0 && below(2)) {
        add_parameters(inner, depth - 1, parameters);
      } else {
        parameters.push_back({inner, spec()});
      }
    }
  }

  std::mt19937 random_;
};

}  // namespace shardscope::test
