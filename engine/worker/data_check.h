#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/data_identity.h"
#include "engine/checkpoint/checkpoint_index.h"
#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"

namespace shardscope {

// Every rank looks at its own copy of the data that it is about to read; it must be what `at_start` says: what the
// launcher found when the run began, before ranks were first started. Without a launcher (nothing), it must be what
// rank 0 has. Where `allow_changed`, a difference is said and not an error.
//
// Collective. Returns what this rank has. Throws Failure, on the lowest rank that has one: changed_data, or what
// identify_data() throws.
DataIdentity check_run_data(const Plan& plan, Communicator& world, const std::optional<DataIdentity>& at_start,
                            bool allow_changed, const std::function<void(const std::string&)>& say);

// Of which the second half: `own` is what this rank has. Throws changed_data.
void require_run_data(const DataIdentity& own, Communicator& world, const std::optional<DataIdentity>& at_start,
                      bool allow_changed, const std::function<void(const std::string&)>& say);

// Throws changed_data where a checkpoint was trained with other data.
void require_same_data(const CheckpointIndex& index, const std::string& path, const DataIdentity& data);

// For a person, before the first step of a run that goes on from a checkpoint: how its data are other data, or that
// this cannot be known; and each setting that changes what is computed from here on.
std::vector<std::string> changes_since(const CheckpointIndex& index, const Plan& plan, const DataIdentity& data);

}  // namespace shardscope
