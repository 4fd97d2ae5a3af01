#pragma once

#include "engine/session/messages.h"

namespace shardscope {

// Each metric has a curve, each rank a row and a choice of lines: takes out of a message what is of a metric or rank
// that the run has not named at first. False where nothing of it is left.
bool keep_known(Message& message, const HelloMessage& hello);

}  // namespace shardscope
