#pragma once

#include "engine/machine/machine.h"
#include "engine/runtime/measurements.h"

namespace shardscope {

// Fills device.kernels, for the machine's own memory levels and instruction latency. Of each family, timings of the
// precision that comes first say which limits it:
//
//   bytes    many bytes take more than few bytes' time would let expect by their flops: the efficiency is that of many
//            bytes, and the rate of flops that of few
//   flops    else, or where bytes alone explain less than a quarter of the time: efficiency 1, and the mean rate
//   no op    has flops: efficiency is the mean over the timings
//
// Means are geometric. Timings of less than twice an instruction's latency say nothing, and are left out.
void set_kernel_rates(Machine& machine, const Measurements& measured);

}  // namespace shardscope
