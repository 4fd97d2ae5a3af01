#pragma once

#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/graph/attributes.h"
#include "engine/runtime/measurements.h"

namespace shardscope {

struct OpTiming {
  Timing time;
  double bytes = 0, flops = 0;  // of operands and results; by the op's definition
};

// Makes the kernel of a registered op on each of `cores` threads, with arrays of its own, and runs it there again and
// again for about so long: at least three times. Where `apart` is above 0 it has several sets of arrays, up to 256 that
// take so many bytes together, and runs on one after the other: each was last touched as many bytes ago, as arrays of a
// training step were. On each set it runs once untimed; repetitions are seconds_between_uses apart. What counts is wall
// time, or the processor time where other work interrupted the thread.
//
// Operands' floats are 0.5, or 0.5 and 0 in turn (bf16); integers are below 97. Results are arrays of their own, but
// where the op must work in place. Throws Failure where the operands do not fit the op, or it has no kernel for them.
OpTiming time_op(int cores, double seconds, double apart, const std::string& op, const Attributes& attributes,
                 const std::vector<TensorType>& operands);

}  // namespace shardscope
