#pragma once

#include <string>

namespace shardscope {

// What a line of the run file's table of specs did.
struct SpecLineUse {
  std::string place;   // in the run file: "sharding.rules[1]"
  int matched = 0;     // arrays that it speaks of, by name, kind and, in rules by them, logical names
  int decided = 0;     // of these, arrays of which it decided the whole or a dimension
  std::string sample;  // the first few that it matched, a line each
};

}  // namespace shardscope
