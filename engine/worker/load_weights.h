#pragma once

#include <functional>
#include <string>

#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

// Replaces a rank's parts of the parameters by those of the model's files (weights_folder()), where it has any: each
// rank reads its own boxes alone. Parameter "params/model/norm/weight" is array "model.norm.weight" there, in one of
// the forms of StoredWeight. A master copy is read as its parameter. Arrays that no parameter has are an error, but for
// buffers that older files hold ("rotary_emb.inv_freq", attention masks); those of layers behind the model's last one,
// and of "mtp.", are skipped, and `note` says how many. Adapters need not be there.
//
// Where the embedding and the output layer are one parameter (tie_word_embeddings), a file may have it under either
// name, or under both: the two must be the same then. (transformers does not tie two that differ, and warns.)
//
// Throws Failure with all faults: missing_weight, unknown_weight, weight_shape, each naming the array and what was
// expected; tied_weights; and what reading the files throws.
void load_weights(const Plan& plan, int device, const Executor& executor,
                  const std::function<void(const std::string&)>& note = nullptr);

}  // namespace shardscope
