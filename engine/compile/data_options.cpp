#include "engine/compile/data_options.h"

namespace shardscope {

const std::vector<DataKind>& all_data_kinds() {
  static const std::vector<DataKind> kinds{
      {"synthetic_lm",
       {{"batch_size", int64_t{64}, true, 1, 1e7, "sequences in a step, over all devices"},
        {"seed", int64_t{0}, false, 0, 9.2e18, "of the tokens"}}}};
  return kinds;
}

const DataKind* find_data_kind(const std::string& name) {
  for (const DataKind& kind : all_data_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace shardscope
