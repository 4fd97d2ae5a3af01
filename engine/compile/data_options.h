#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"

namespace shardscope {

// The data sources that a run file may name (data.kind) and what they may be told. The sources themselves are in
// engine/worker.
struct DataKind {
  std::string name;
  std::vector<OptionDefinition> options;
};

const std::vector<DataKind>& all_data_kinds();
const DataKind* find_data_kind(const std::string& name);

}  // namespace shardscope
