#include "engine/cli/reference/formats.h"

namespace shardscope {

std::span<const Shell> all_shells() {
  static const Shell shells[] = {
      {"bash", "share/bash-completion/completions/shardrun", bash_completion},
      {"zsh", "share/zsh/vendor-completions/_shardrun", zsh_completion},
      {"fish", "share/fish/vendor_completions.d/shardrun.fish", fish_completion},
  };
  return shells;
}

}  // namespace shardscope
