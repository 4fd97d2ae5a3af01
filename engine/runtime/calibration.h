#pragma once

#include <span>
#include <string>

#include "engine/machine/machine.h"
#include "engine/runtime/measurements.h"

namespace shardscope {

// Seconds of measure().
inline constexpr double usual_calibration_seconds = 30, thorough_calibration_seconds = 180;

// The machine that follows from measurements; of what was not measured that of the standard host. Rates are of one
// core.
//
//   instruction_latency  that of the smallest op
//   products             peak: the best rate; efficiency: of each shape, without the latency
//   memory               levels with the rates of their working sets
//   kernels              kernel_rates.h
//   levels, collectives  collective_rates.h
Machine machine_of(const Measurements& measured);

// True where other processes took so much of the cores' time that rates are not the machine's.
inline constexpr double most_other_work = 0.1;
bool is_disturbed(const Measurements& measured);

// "2026-11-24, 12 to 90 repetitions, spread 4 % (at most 9 %)": of each timing; with a note in its place.
std::string source_text(const Measurements& measured, std::span<const Timing> times);
std::string source_text(const Measurements& measured, const std::string& note);

}  // namespace shardscope
