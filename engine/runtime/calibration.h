#pragma once

#include <span>

#include "engine/plan/device_profile.h"

namespace shardscope {

// seconds = latency + bytes * seconds_per_byte.
struct TransferRates {
  double latency = 0;
  double seconds_per_byte = 0;
};

// The rates nearest to what was measured: least squares of the residuals relative to each measured time, so that small
// transfers say the latency and large ones the bandwidth. At least two sizes; seconds above 0.
TransferRates fit_transfer_rates(std::span<const double> bytes, std::span<const double> seconds);

// Measures the rates of this machine with the kernels and the communicator that a training uses, on all cores that the
// process may use: matrix products of a transformer's shapes, streaming additions, and all-reduces of
// several sizes among eight ranks, to which latency and bandwidth are fitted. Each is the fastest of several runs,
// since what else the machine does only slows them. Takes a few seconds.
DeviceProfile calibrate();

}  // namespace shardscope
