#pragma once

#include <QString>
#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// One setting that two run files say differently, the default where a file does not say it; empty: there is none.
struct SettingDifference {
  QString setting;  // "mesh.axes[0].size"; of files that are compared by lines "line 12"
  QString before, after;
  bool operator==(const SettingDifference&) const = default;
};

// In the order of the file.
std::vector<SettingDifference> differences(const RunConfig& before, const RunConfig& after);
// Of texts, at least one of which is no run file: by lines, without those that both begin or end with.
std::vector<SettingDifference> line_differences(const std::string& before, const std::string& after);

}  // namespace shardscope
