#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/graph/graph.h"

namespace shardscope {

// A part of a network that becomes a Python function: a layer, a module of several ops in it, or what is
// rematerialised.
struct JaxBlock {
  struct Item {
    OpId op = no_id;
    int block = -1;  // or a block inside: its index
  };
  std::string name;               // "self_attention_block"
  std::vector<std::string> path;  // of its module, without "params"
  std::vector<Item> items;        // in the order of the graph
  bool again = false;             // backward makes its values anew
};

// Blocks inside stand before those that they are in.
struct JaxBlocks {
  std::vector<JaxBlock> blocks;
  int64_t layers_again = 1;  // so many layers are made anew together
  int model = -1;            // gives what the network gives
  int losses = -1;           // makes losses of that; -1: the model gives them itself, as they need more than that
};

// Of these forward ops, in the order of the graph. `values`: what each of all ops reads.
JaxBlocks jax_blocks(const Graph& graph, const std::vector<OpId>& ops, const std::vector<std::vector<ValueId>>& values,
                     const ScheduleConfig& schedule);

// "SelfAttentionBlock_0" -> "self_attention_block_0".
std::string snake_case(const std::string& name);
// The path of an op's module: its name without the last part.
std::vector<std::string> module_path(const std::string& name);

}  // namespace shardscope
