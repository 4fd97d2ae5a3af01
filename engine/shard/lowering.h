#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/shard/layout_choice.h"

namespace shardscope {

// Everything that lowering decides: the program, and where things went.
struct Lowered {
  Program program;
  std::vector<int> defined;                // per graph value: the program value where it is defined; -1 if never needed
  std::vector<std::vector<int>> versions;  // per graph value: all its layouts, in the order made
  // What a step reports (engine/graph/reported_values.h), whole on every device: a program value for each stage.
  std::map<std::string, std::vector<int>> reported;
};

// Turns placed ops into the tasks of one device, one for each phase of the graph: local ops, and slices and collectives
// where a value is needed in a layout that it does not have. A needed layout is made once, from the version that is
// cheapest to start from, just before its first use. What the update uses of a gradient is made as soon as the gradient
// is there, in the backward task, unless that is the larger of the two.
//
// Small arrays (parameters of at most `problem.bucket_bytes`, what is made of them alone, their gradients, and the
// values that a step reports) are resharded together, one collective for all that share kind and axes: what a task uses
// of other tasks at its start, reported values at the end of the forward task, what `begin` makes at its end, the
// operands of an op that takes scalars alone (global_norm) before it.
//
// The layouts of values in `choices.reshard_after_forward` are made in each task anew, and need not be kept from one to
// the next.
//
// Of several microbatches what the update uses of a gradient is made in the update, and reported values in a task of
// their own, `metrics`. What is made of states alone (a parameter in the type of products) is made once a step, in the
// task `begin`, with the other layouts of it that forward and backward use, but for those in
// `choices.reshard_after_forward`.
//
// In a pipeline (`problem.staged`) each stage has tasks of its own, for each chunk where work is repeated. What it
// needs of another stage is sent from where it is defined, as it is laid out there, as soon as it is made, and laid out
// anew where it is used; inputs and results of ops without operands are made on each stage that uses them. What does
// not change in a step crosses once: states, and what is made of them, in the task `begin`, in which a stage also makes
// the other layouts of its states that forward and backward use (but for those in `choices.reshard_after_forward`);
// sums over microbatches in the update. Every stage gets the reported values in `metrics`.
//
// Sequences: `initialise` is the task of that name, `evaluate` the forward task alone, behind `begin` where there is
// one; `train_step`, where there is more than forward, is begin, forward, backward and update. Of several microbatches
// forward and backward run for each, one microbatch after the other, then metrics.
Lowered lower(const LayoutProblem& problem, const LayoutChoice& choices);

}  // namespace shardscope
