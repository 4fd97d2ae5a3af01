#include "engine/export/portable_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/export/published_models.h"

namespace shardscope {

std::string published_model(StrategySettings& settings, const std::string& key, const std::string& said,
                            std::span<const std::pair<const char*, const char*>> names) {
  std::string known;
  for (const auto& [theirs, ours] : names) {
    known += known.empty() ? theirs : fmt::format(", {}", theirs);
    if (said != theirs) continue;
    return std::string(std::ranges::find(published_model_files(), ours, &LibraryFile::name)->text);
  }
  settings.fail(key, said.empty() ? "says no model" : fmt::format("'{}' is no model that is known here", said),
                fmt::format("{}; or --run with a run file that has the model", known));
  return {};
}

}  // namespace shardscope
