#pragma once

#include <functional>
#include <vector>

#include "engine/program/pipeline_order.h"
#include "engine/simulate/simulation.h"

namespace shardscope {

// The order of a schedule by itself, whatever the stages compute: when each stage does each item of its list.
struct OrderSimulation {
  std::vector<std::vector<Simulation::Span>> stages;  // as the order
  double seconds = 0;                                 // until all are done
  double bubble = 0;                                  // share of that time in which a stage waits, mean over stages
};

// Simulates a program that has a task for each kind of work of each chunk, of one instruction that takes `seconds`, and
// messages that take no time. Throws Failure (pipeline_cycle), naming what waits for what, where stages would wait for
// each other for ever, or where a stage does backward of a microbatch before its forward.
OrderSimulation simulate_order(const PipelineOrder& order, const std::function<double(const WorkItem&)>& seconds);

}  // namespace shardscope
