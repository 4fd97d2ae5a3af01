#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace shardscope {

// A setting that two run files say differently.
struct SettingChange {
  std::string path;           // in the run file: "mesh.axes[0].size"
  std::string before, after;  // as JSON, the default where the file does not say it; empty: there is none
};

// In the order of the files, those that `after` alone says behind the others. A whole number in place of a real one
// says the same.
std::vector<SettingChange> setting_changes(const RunConfig& before, const RunConfig& after);

}  // namespace shardscope
