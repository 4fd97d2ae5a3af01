#pragma once

#include <vector>

#include "engine/config/run_config.h"
#include "engine/graph/graph.h"
#include "engine/machine/machine.h"
#include "engine/machine/stack.h"
#include "engine/program/program.h"
#include "engine/simulate/streams.h"

namespace shardscope {

// Another order in which backward may list its instructions: gradients of parameters behind the transfer that backward
// waits for next, so that they are computed while it runs (as Megatron-LM computes them beside the all-reduce of the
// input gradient, layers.py, and XLA's latency hiding scheduler does): behind the next collective of a cotangent that
// other cotangents are made of, or the next message to another stage, where only gradients of the same layer are
// between. Where another collective of backward follows before gradients of another layer, the two share them, by FLOP
// as they move bytes. What goes round a ring has blocks of attention beside it already. All else keeps its order; every
// dependency is kept; sums, and with them bits, are the same.
//
// Example, a layer with tensor parallelism; AR sums the input gradient dx:
//   dw2 . dh . dw1 . dx . AR dx . norm'   ->   dh . dx . AR dx . dw2 . dw1 . norm'
//
// It is not always faster: where gradients are reduced in each microbatch on a link that is busy, they come to it
// later.
//
// By task: indices in their new order, empty where that is the old one. No tasks where nothing moves.
using ListedOrders = std::vector<std::vector<int>>;
ListedOrders weight_gradient_orders(const Program& program, const Graph& graph);

// Whether plans try it: where some communication of the machine may run beside what a device computes. Other stacks
// have an order of their own.
bool orders_weight_gradients(OverlapMode overlap, const Stack& stack, const Machine& machine);

void list_in(const ListedOrders& orders, Program& program, InstructionTable<double>& seconds);

// Lists each task of a program in blocking form so where it alone is then done earlier, or its message sent, with
// collectives beside computation (overlap_schedule.h).
void list_weight_gradients(Program& program, const Graph& graph, InstructionTable<double>& seconds,
                           const Streams& streams);

}  // namespace shardscope
