#pragma once

#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// A word for each of the steps [first, end) of a task: its kind, phase, op and axes, the shapes and layouts of what it
// gives and takes, and which of these steps makes what it takes. Layers whose words are the same are alike.
std::vector<std::string> alike_words(const Plan& plan, int task, int first, int end);

}  // namespace shardscope
