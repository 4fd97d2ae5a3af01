#include "models/rotary_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

using RotaryKind = RotaryScaling::Kind;

// "su" is what Phi-3's first configs call longrope, as transformers reads them.
const std::vector<std::string> kinds{"default", "linear", "dynamic", "llama3", "yarn", "longrope", "su"};

int64_t turned_size(ModelConfig& config, const std::string& field, double partial, int64_t head_size) {
  const auto size = static_cast<int64_t>(static_cast<double>(head_size) * partial);
  if (size >= 2 && size % 2 == 0 && size <= head_size) return size;
  config.fail(field, "out_of_range", fmt::format("{} of a head of {} is {} elements", partial, head_size, size),
              "an even number of them is turned");
  return 2;
}

// yarn: attention_factor, or by factor, mscale and mscale_all_dim.
double yarn_attention(ModelConfig& parameters, double factor) {
  const std::optional<double> given = parameters.maybe_number("attention_factor", 0, 1e6);
  const double scale = parameters.maybe_number("mscale", 0, 1e6).value_or(0);
  const double scale_of_all = parameters.maybe_number("mscale_all_dim", 0, 1e6).value_or(0);
  if (given) return *given;
  if (scale > 0 && scale_of_all > 0) return yarn_magnitude(factor, scale) / yarn_magnitude(factor, scale_of_all);
  return yarn_magnitude(factor);
}

// longrope: attention_factor, or by the factor, which is positions / original_positions unless it is given.
void read_longrope(ModelConfig& parameters, RotaryScaling& scaling) {
  const int64_t count = scaling.size / 2;
  const auto factors = [&](const char* field) {
    if (!parameters.says(field)) parameters.fail(field, "missing_key", fmt::format("'{}' is missing", field));
    return parameters.numbers(field, count, 1e-6, 1e6).value_or(std::vector<double>(static_cast<size_t>(count), 1));
  };
  scaling.short_factors = factors("short_factor");
  scaling.long_factors = factors("long_factor");
  const auto original = static_cast<double>(scaling.original_positions);
  const double factor =
      parameters.maybe_number("factor", 1e-6, 1e6).value_or(static_cast<double>(scaling.positions) / original);
  const double magnitude = factor <= 1 || original <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  scaling.magnitude = parameters.maybe_number("attention_factor", 0, 1e6).value_or(magnitude);
}

}  // namespace

RotaryScaling read_rotary_parameters(ModelConfig& parameters, const RotaryDefaults& defaults) {
  RotaryScaling scaling;
  const std::string old_type = parameters.text("type", "default", kinds);
  const std::string type = parameters.text("rope_type", old_type, kinds);
  const std::string& kind = type == "su" ? "longrope" : type;
  scaling.kind = static_cast<RotaryKind>(std::ranges::find(kinds, kind) - kinds.begin());
  scaling.theta = parameters.number("rope_theta", defaults.theta, 1.0001, 1e15);
  double partial = defaults.partial;
  if (defaults.takes_partial) partial = parameters.number("partial_rotary_factor", partial, 0, 1);
  scaling.size = turned_size(parameters, "partial_rotary_factor", partial, defaults.head_size);
  scaling.positions = defaults.positions;
  scaling.sequence = defaults.sequence;
  if (scaling.kind == RotaryKind::standard) {
    parameters.without_effect({"factor"});
    return scaling;
  }
  if (scaling.kind == RotaryKind::longrope) {
    const int64_t original = parameters.integer("original_max_position_embeddings", defaults.positions);
    scaling.original_positions = defaults.original_positions.value_or(original);
    read_longrope(parameters, scaling);
    return scaling;
  }
  scaling.factor = parameters.number("factor", std::nullopt, 1e-6, 1e6);
  if (scaling.kind == RotaryKind::dynamic && scaling.size < 4) {
    parameters.fail("rope_type", "out_of_range", "dynamic positions of heads of 2", "larger heads");
    scaling.kind = RotaryKind::linear;
  }
  if (scaling.kind == RotaryKind::llama3 || scaling.kind == RotaryKind::yarn) {
    scaling.original_positions = parameters.integer("original_max_position_embeddings", defaults.positions);
  } else {
    parameters.without_effect({"original_max_position_embeddings"});
  }
  if (scaling.kind == RotaryKind::llama3) {
    scaling.low_frequency_factor = parameters.number("low_freq_factor", std::nullopt, 1e-6, 1e6);
    scaling.high_frequency_factor = parameters.number("high_freq_factor", std::nullopt, 1e-6, 1e6);
    if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
      parameters.fail("high_freq_factor", "out_of_range", "it is not above low_freq_factor", "4 and 1, say");
    }
  }
  if (scaling.kind == RotaryKind::yarn) {
    parameters.without_effect({"finetuned"});
    scaling.beta_fast = parameters.number("beta_fast", 32, 1e-6, 1e6);
    scaling.beta_slow = parameters.number("beta_slow", 1, 1e-6, 1e6);
    scaling.truncate = parameters.boolean("truncate", true);
    scaling.magnitude = yarn_attention(parameters, scaling.factor);
    if (const auto scale = parameters.maybe_number("mscale_all_dim", 0, 1e6); scale && *scale > 0) {
      scaling.score_magnitude = yarn_magnitude(scaling.factor, *scale);
    }
  }
  return scaling;
}

RotaryScaling read_rotary(ModelConfig& config, const RotaryDefaults& defaults) {
  RotaryDefaults own = defaults;
  own.theta = config.number("rope_theta", defaults.theta, 1.0001, 1e15);
  if (defaults.takes_partial) own.partial = config.number("partial_rotary_factor", defaults.partial, 0, 1);
  // transformers takes rope_scaling where a config has both.
  std::optional<ModelConfig> old_parameters = config.object("rope_scaling");
  std::optional<ModelConfig> parameters = config.object("rope_parameters");
  if (old_parameters) parameters = std::move(old_parameters);
  if (!parameters) {
    RotaryScaling scaling;
    scaling.theta = own.theta;
    scaling.size = turned_size(config, "partial_rotary_factor", own.partial, own.head_size);
    return scaling;
  }
  const RotaryScaling scaling = read_rotary_parameters(*parameters, own);
  parameters->finish();
  return scaling;
}

}  // namespace shardscope
