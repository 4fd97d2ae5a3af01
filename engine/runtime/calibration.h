#pragma once

#include "engine/plan/device_profile.h"

namespace shardscope {

// Measures the rates of this machine with the kernels and the communicator that a training uses, on all cores that the
// process may use: matrix products of a transformer's shapes, streaming additions, and all-reduces among eight ranks.
// Each is the fastest of several runs, since what else
// the machine does only slows them. Takes a few seconds.
DeviceProfile calibrate();

}  // namespace shardscope
