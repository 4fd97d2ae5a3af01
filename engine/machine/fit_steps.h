#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/machine/machine.h"

namespace shardscope {

// What of a machine other rows have decided, and step times are not asked for.
struct DecidedRates {
  std::set<Precision> products;
  std::set<std::string> levels;
};

// The predicted seconds of some training steps on a machine, in one order.
using StepSeconds = std::function<std::vector<double>(const Machine&)>;

// The machine by whose numbers the predicted steps come near to the measured ones. Shares alone are changed, each by
// one factor: of the peak that products of a precision reach, of attention's rate (forward and backward alike), of
// memory's rate, and of each level's rate. None is above 1 then, levels are not faster than the machine has them, and
// what the steps hardly depend on (a hundredth of the change, in none of them more) stays.
//
// Least squares of the logarithms of predicted to measured, and, weakly, of the factors: what steps do not tell apart
// stays near the machine's. Gauss-Newton within these bounds, with slopes from predictions of changed machines: what is
// hidden behind what, and which stage waits, is in them. Asks for some ten predictions a factor.
Machine fit_steps(const Machine& machine, std::span<const double> measured, const DecidedRates& decided,
                  const StepSeconds& predict, const std::string& source);

// Which rows the factors are fitted to: half of them by a hash of their names, the larger half of an odd number. The
// others are held out. False for all of fewer than four.
inline constexpr size_t fewest_steps = 4;
std::vector<bool> fitted_half(std::span<const std::string> names);

}  // namespace shardscope
