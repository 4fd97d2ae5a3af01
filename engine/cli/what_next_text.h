#pragma once

#include <string>

#include "engine/lint/what_next.h"

namespace shardscope {

// A line for each change that helps: its settings, predicted time and memory with it, and by how much less they are.
// First those that shorten the step, then those that save memory, the best of each first.
std::string what_next_text(const WhatNext& next);

}  // namespace shardscope
