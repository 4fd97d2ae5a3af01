#include "engine/optim/decay_mask.h"

namespace shardscope {

OptionDefinition decay_mask_option() {
  return {"decay_mask",
          std::string("**"),
          false,
          0,
          0,
          "parameters that weight decay takes from: names or patterns, with commas"};
}

DecayMask::DecayMask(const OptionList& options) : texts_(split_patterns(string_option(options, "decay_mask"))) {
  for (size_t i = 0; i < texts_.size(); ++i) patterns_.add(texts_[i], static_cast<int>(i));
}

bool DecayMask::decays(const std::string& parameter) const {
  std::vector<int> ids;
  patterns_.match(parameter, ids);
  return !ids.empty();
}

std::vector<Error> DecayMask::unmatched(const std::vector<std::string>& parameters) const {
  std::vector<bool> matched(texts_.size());
  for (const std::string& parameter : parameters) {
    std::vector<int> ids;
    patterns_.match(parameter, ids);
    for (int id : ids) matched[static_cast<size_t>(id)] = true;
  }
  std::vector<Error> errors;
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (matched[i]) continue;
    errors.push_back({"no_match", "'" + texts_[i] + "' matches no parameter", "optimizer.decay_mask",
                      pattern_hint(texts_[i], parameters)});
  }
  return errors;
}

}  // namespace shardscope
