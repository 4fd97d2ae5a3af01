#pragma once

#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// A message of the main sequence from one stage to another: the position of its send, and of its receive.
struct StageMessage {
  int from = 0, to = 0;  // stages
  int send = 0, receive = 0;
};

// Messages of one channel are received in the order in which they were sent.
std::vector<StageMessage> stage_messages(const Plan& plan);

// The device of stage `to` that a device of another stage exchanges messages with.
int peer_in_stage(const Plan& plan, int device, int to);

}  // namespace shardscope
