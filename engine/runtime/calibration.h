#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/machine/machine.h"

namespace shardscope {

// seconds = latency + bytes * seconds_per_byte.
struct TransferRates {
  double latency = 0;
  double seconds_per_byte = 0;
};

// The rates nearest to what was measured: least squares of the residuals relative to each measured time, so that small
// transfers say the latency and large ones the bandwidth. At least two sizes; seconds above 0.
TransferRates fit_transfer_rates(std::span<const double> bytes, std::span<const double> seconds);

// What is timed, in seconds, of work that is fixed: the fastest of several runs each.
struct CalibrationTimes {
  int cores = 1;
  double products = 0, products_bf16 = 0;  // the three matrix products of a layer, on all cores; in f32 and in bf16
  std::string bf16_products;               // how the machine computes the latter
  double addition = 0;                     // of two arrays, streaming, on all cores
  std::vector<double> transfer_bytes;      // by the ring convention, of all-reduces among eight ranks
  std::vector<double> transfer_seconds;    // one each
};
CalibrationTimes measure_times();

// The rates that follow from times; of what is not timed those of the standard host.
Machine machine_of(const CalibrationTimes& times);

// Measures the rates of this machine: machine_of(measure_times()), with the kernels and the communicator that a
// training uses, on all cores that the process may use: matrix products of a transformer's shapes, streaming additions,
// and all-reduces of several sizes among eight ranks, to which latency and bandwidth are fitted. Each is the fastest of
// several runs, since what else the machine does only slows them. Takes a few seconds.
Machine calibrate();

}  // namespace shardscope
