#pragma once

#include <cstdint>

namespace shardscope {

// How files have the kernels of a layer's experts: as one array, X.experts.gate_up_proj; or as one array for each
// expert, X.experts.0.gate_proj.weight, or by Mixtral's names, block_sparse_moe.experts.0.w1.weight.
enum class ExpertArrays : uint8_t { joined, by_expert, mixtral };

}  // namespace shardscope
