#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/export/jax_layers.h"

namespace shardscope {

// A line of a Python function that makes values: by an op, or by calls of blocks.
struct JaxStatement {
  OpId op = no_id;
  JaxCalls calls;
  std::vector<ValueId> makes;
  std::vector<ValueId> reads;  // variables that its text reads
};

// What the variables of a function are called: x what goes through it, y what is made beside that, and by their modules
// those that several lines need. A name is taken again where its value is not read any more.
std::map<ValueId, std::string> name_variables(const JaxFunctions& all, const JaxBlock& block,
                                              const std::vector<JaxStatement>& statements,
                                              const std::vector<ValueId>& arguments,
                                              const std::vector<ValueId>& results);

}  // namespace shardscope
