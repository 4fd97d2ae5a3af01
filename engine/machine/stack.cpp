#include "engine/machine/stack.h"

namespace shardscope {

std::string_view name(AttentionKernel kernel) { return kernel == AttentionKernel::flash ? "flash" : "scores"; }

}  // namespace shardscope
