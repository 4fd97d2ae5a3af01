#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/export/jax_block.h"
#include "engine/export/jax_op.h"
#include "engine/ops/dropout.h"

namespace shardscope {

// A block as a Python function: def name(params, keys, values...).
struct JaxFunction {
  std::string name;
  std::vector<ValueId> arguments;  // beside params and keys
  std::vector<ValueId> results;
  bool takes_params = false, takes_keys = false;
};

// The functions of a network as they are written, and what they have in common.
struct JaxFunctions {
  const Graph& graph;
  std::map<ValueId, std::string> pinned;     // constraints in Python
  std::pair<std::string, int64_t> layers;    // a constant of the program that counts layers
  std::vector<std::vector<ValueId>> read;    // by op: what its text reads
  std::vector<std::vector<OpId>> readers;    // by value; twice where an op reads it twice
  std::set<std::string> taken;               // names that no variable may have
  std::vector<JaxFunction> functions;        // by block
  std::vector<std::string> texts;            // those that differ, in order
  std::map<std::string, std::string> names;  // by what a function would be called and its text
  std::set<ValueId> constrained;             // pinned values that have a variable
  std::map<std::string, StepKey> dropped;    // by the path in `keys`
};

// The text of an op, whose operands are expressed so. Throws Failure (not_exportable): JAX has no such op.
JaxText jax_text(const JaxFunctions& all, OpId op, std::function<std::string(ValueId, Binding)> value,
                 std::function<std::string(const StepKey&)> key);
// The results that its text gives.
size_t jax_result_count(const JaxFunctions& all, OpId op);

// Adds the next block's function.
void write_jax_function(JaxFunctions& all, const JaxBlocks& blocks);

}  // namespace shardscope
