#pragma once

#include <string>
#include <vector>

#include "engine/base/name_pattern.h"
#include "engine/base/options.h"

namespace shardscope {

// Which parameters weight decay takes from, as the mask of optax.adamw: option decay_mask, name patterns with commas
// between them ("**/kernel, **/embedding"), of which a parameter's name matches one.
OptionDefinition decay_mask_option();

class DecayMask {
 public:
  explicit DecayMask(const OptionList& options);
  bool decays(const std::string& parameter) const;
  // Patterns that match none of the parameters.
  std::vector<Error> unmatched(const std::vector<std::string>& parameters) const;

 private:
  std::vector<std::string> texts_;
  NamePatterns patterns_;
};

}  // namespace shardscope
