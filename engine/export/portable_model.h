#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "engine/config/run_config.h"
#include "engine/export/strategy_settings.h"

namespace shardscope {

// A model as the file of another program describes it.
struct PortableModel {
  std::string config;           // text of a config.json of Hugging Face
  int64_t sequence_length = 0;  // of the training's data
  PrecisionConfig precision;
};

// See StrategyFormat::read_model. Megatron and MaxText say the shape in arguments, MaxText and torchtitan also by names
// of published models, of which those in presets/models are known.
PortableModel megatron_model(const std::string& text, const std::string& file);
PortableModel torchtitan_model(const std::string& text, const std::string& file);
PortableModel maxtext_model(const std::string& text, const std::string& file);

// The config.json of presets/models/NAME, where `names` gives a NAME to what the setting `key` says; else, or without
// one, an error at `key` that lists what is known.
std::string published_model(StrategySettings& settings, const std::string& key, const std::string& said,
                            std::span<const std::pair<const char*, const char*>> names);

}  // namespace shardscope
