#pragma once

#include <span>
#include <vector>

#include "engine/program/dependencies.h"
#include "engine/program/program.h"
#include "engine/simulate/streams.h"

namespace shardscope {

// In which order a rank issues the instructions of a task so that collectives run beside what it computes, where their
// stream is joined with `compute`: starts earlier and dones later than lowering lists them. All else keeps the listed
// order, but for slices and ops that depend on the task's inputs alone (casts of weights), which a start may bring
// forward with it, and sums over microbatches, which come behind the dones that they need. Collectives of a group are
// done in the order of their starts, at most most_open_collectives of them open at a time, and every dependency is kept
// (dependencies.h).
//
// Two walks over the list. Backwards each start is put so far ahead of the first use of its result that as long is
// computed between them as `lookahead` times the transfer takes, those on one stream one after the other; no earlier
// than what it depends on, no later than listed. Forwards each start waits from there until what it depends on is done,
// and until no more than so much is queued on its stream: a transfer behind others is done no sooner, and its result
// needs room. Of those that wait the one goes first whose result is needed first. Where ranks share
// cores, one whose result is smaller than what it is made of, such as a reduced gradient, does not wait where none on
// its stream is needed earlier. Each done comes before the first use of its result, behind the starts that keep its
// stream busy from then on, or when `lookahead` times the transfer has passed since its start: gradients do not stay in
// their unreduced form for long.
//
// Example: weights of four layers are gathered, 1 s each, and each layer computes 2 s. Listed: gather, compute, gather,
// compute ...: 12 s. With lookahead 1 each gather starts before the layer before computes: 9 s, of which the first
// gather is exposed.
//
// By task of the program; as listed where a task has no collectives.
std::vector<IssueOrder> overlapped_orders(const Program& program, const Graph& graph,
                                          const InstructionTable<double>& seconds, const Streams& streams,
                                          double lookahead);

// Of the schedules that are tried the first, which hides most.
inline constexpr double longest_lookahead = 2;

// Seconds that a task alone takes in that order, until its last message to another stage is sent, and until all that it
// has started is done.
struct OverlappedSeconds {
  double sent = 0, done = 0;
};
OverlappedSeconds overlapped_seconds(const Program& program, const Graph& graph, int task,
                                     std::span<const double> seconds, const std::vector<Dependency>& dependencies,
                                     const Streams& streams, double lookahead);

}  // namespace shardscope
