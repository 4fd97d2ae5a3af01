#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/config/run_config.h"
#include "engine/graph/graph.h"

namespace shardscope {

// What schedule.rematerialise lists: "none", policies, patterns.
std::vector<std::string> rematerialise_entries(const ScheduleConfig& schedule);

// Per value of a graph that is differentiated: whether backward makes it again, by schedule.rematerialise. A result
// that is read by a forward op outside of its layer (of its group of layers, of its part of the layer), and a result
// that the graph gives, is kept, so that each layer can be recomputed by itself; of an array that enters a layer
// through a cast to a smaller type, the smaller is kept. Groups of layers begin anew with each model chunk of a
// pipeline
// (`layers`: of each chunk, or empty), since its stage has what it received. What is made of states alone is kept. By
// pattern, results of all ops of such names; by a list, what any entry names.
//
// Example: "attention" of q, k, v -> context, log-sum-exp; context -> output product. Queries, keys, values and context
// are kept; backward attends again, for the log-sum-exp (Korthikanti et al. 2022: for the scores, where these are
// kept).
std::vector<bool> recomputed_values(const Graph& graph, const ScheduleConfig& schedule,
                                    const std::vector<int>& layers = {});

// Further forward ops that backward recomputes, whatever the policy (`again`), so that bf16 is kept from forward and
// not f32: casts that widen results of forward in bf16; sums of their results with biases, or with arrays that are kept
// anyway (a residual stream); casts to bf16 of arrays that backward uses in f32 too. Not ops named in `kept`, nor what
// one model chunk of a pipeline hands to the next, of which each receives its own (`layers`: of each chunk, or empty).
std::vector<OpId> recomputed_casts(const Graph& graph, const std::set<std::string>& kept,
                                   const std::vector<bool>& again, const std::vector<int>& layers = {});

// rematerialise, at schedule.rematerialise: of each entry that means no op of the model, which it names.
std::vector<Error> check_rematerialisation(const Graph& forward, const ScheduleConfig& schedule);

}  // namespace shardscope
