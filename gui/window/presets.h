#pragma once

#include <QString>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// The run files that come with the program (presets/*.json), compiled into it.
std::vector<QString> preset_names();
// Those of published models on clusters (presets/published/*.json), "published/llama-3.1-70b".
std::vector<QString> published_preset_names();
// Throws Failure when there is no such preset.
RunConfig load_preset(const QString& name);
inline const QString default_preset = "parallax_decoder";

}  // namespace shardscope
