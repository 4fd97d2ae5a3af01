#pragma once

#include <QString>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// An example of one number, what it should give, and what the trained model gives.
struct FitPoint {
  double x = 0, target = 0, prediction = 0;
  bool operator==(const FitPoint&) const = default;
};

// True where a plan is of a regression of one number on one number, over data that have an end.
bool has_fit(const Plan& plan);

// What `shardrun train --predictions FILE` has written of such a plan, by ascending x; empty where it has not.
std::vector<FitPoint> read_fit(const QString& file);

}  // namespace shardscope
