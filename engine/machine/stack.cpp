#include "engine/machine/stack.h"

namespace shardscope {

std::string_view name(AttentionKernel kernel) { return kernel == AttentionKernel::flash ? "flash" : "scores"; }

std::string_view name(ProductScales scales) { return scales == ProductScales::tensor ? "tensor" : "row"; }

}  // namespace shardscope
