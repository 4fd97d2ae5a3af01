#include "engine/config/run_file_keys.h"

namespace shardscope::run_file {

const std::vector<std::string>& layout_modes() {
  static const std::vector<std::string> modes = {"fastest", "as_written"};
  return modes;
}

const std::vector<std::string>& spec_kinds() {
  static const std::vector<std::string> kinds = {"parameters", "optimizer", "states",   "activations",
                                                 "inputs",     "outputs",   "gradients"};
  return kinds;
}

const std::vector<std::string>& rematerialise_policies() {
  static const std::vector<std::string> policies = {"none", "attention", "mlp", "full"};
  return policies;
}

std::vector<std::string> names(const Keys& keys) {
  std::vector<std::string> result;
  for (const Key& key : keys) result.push_back(key.name);
  return result;
}

}  // namespace shardscope::run_file
