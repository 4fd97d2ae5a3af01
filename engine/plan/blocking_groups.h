#pragma once

#include <vector>

#include "engine/machine/stack.h"
#include "engine/program/program.h"

namespace shardscope {

// What a collective moves: gradients of parameters, parameters (or what is made of states alone, such as their casts),
// or anything else of a step.
enum class MovedKind : uint8_t { gradients, parameters, activations };
MovedKind moved_kind(const CollectiveStart& start, Phase phase, const Program& program, const Graph& graph,
                     const std::vector<bool>& of_states);

// Per group of the program: whether its collectives never run beside computation, since the stack does not overlap what
// most of their bytes are.
std::vector<bool> blocking_groups(const Program& program, const Graph& graph, const StackOverlap& overlap);

// A plan reduces gradients, and gathers updated parameters, in its update, behind the last backward pass. A stack that
// overlaps does so bucket by bucket beside the backward pass of the last microbatch, and beside the forward pass of the
// next step's first: of the collectives of an update's gradients (parameters) only what exceeds `seconds` computed in
// one backward (forward) pass of all of a stage's chunks is left, each in proportion; a pass takes at least as long as
// the host issues its instructions, `host_seconds` each (Device). `seconds`: of each instruction. Gives what was taken
// away of each, which is hidden.
InstructionTable<double> hide_behind_passes(const Program& program, const Graph& graph, const StackOverlap& overlap,
                                            double host_seconds, InstructionTable<double>& seconds);
// What is hidden of each stage: an update runs once in a step.
std::vector<double> hidden_of_stages(const Program& program, const InstructionTable<double>& hidden);

}  // namespace shardscope
