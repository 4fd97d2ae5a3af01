#pragma once

#include <string>
#include <string_view>

#include "engine/config/spec_rule.h"

namespace shardscope {

// What a line of the rules does, in one line for people to read and type:
//
//   a spec              P('data', None)   P(('data', 'model'),)   P()
//   by logical names    mlp -> model, batch -> (data, expert), embed -> None
//   by size             largest -> data   largest -> (data, model) from 65536 bytes
//
// Reading takes back what writing gives, and JAX's own notation: PartitionSpec for P, double quotes.
using RulePlacement = decltype(SpecRule::placement);
std::string placement_text(const RulePlacement& placement);

// Throws Failure (code placement) with the column at which it goes wrong.
RulePlacement parse_placement(std::string_view text);
// The same of a spec alone, whose name may have its module before it: jax.sharding.PartitionSpec('data').
PartitionSpec parse_spec(std::string_view text);

}  // namespace shardscope
