#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// What a model's original program prints while it trains, as fmt's replacement fields: of a step {step}, {number} (from
// 1) and metrics by name ({loss}), of the end {seconds} (mean time of a step, the first aside).
struct ProgressLines {
  std::string step = {};      // "Step {step}: Loss = {loss}"; empty: "Step 0: Loss = 7.5672, Accuracy = 0.12%"
  int64_t every = 1;          // steps 0, every, 2 every, ... have a line
  bool last = false;          // and the last one
  std::string end = {};       // empty: nothing
  int64_t loss_from = 0;      // the first step of its loss curve
  const char* unit = "Step";  // what the original calls a step, where `step` is empty
};

}  // namespace shardscope
