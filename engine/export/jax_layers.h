#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/export/jax_function.h"

namespace shardscope {

// Calls of neighbouring blocks: of one, or of layers, each of which takes what the one before gives.
struct JaxCalls {
  std::vector<int> blocks;
  std::vector<std::string> functions;  // one, or of each block its own where they differ
  std::vector<int> carried;            // by argument: the result of the call before that it is; -1: the same in all
  std::vector<bool> collected;         // by result: whether those of all calls are read, as elements of a list
  std::vector<ValueId> results;        // that are read behind the calls
  int counted = -1;                    // the part of the path that counts the layers
  int64_t first = 0;                   // number of the first
};

// As many of these blocks as one loop can call, or the first alone.
JaxCalls jax_calls(const JaxFunctions& all, const JaxBlocks& blocks, const std::vector<int>& run);

// "for i in range(NUM_LAYERS):", "for i, function in enumerate(([layer] + [layer_2]) * 3):"
std::string loop_header(const JaxCalls& calls, const std::pair<std::string, int64_t>& layers);

// ["mha"]["query"] of a path from one part on; `counted`: the part whose number is i.
std::string subscripts(const std::vector<std::string>& path, size_t from, int counted = -1);

}  // namespace shardscope
