#pragma once

#include <string>

#include "engine/checkpoint/checkpoint_folder.h"
#include "engine/plan/plan.h"

namespace shardscope {

// Makes a checkpoint of step 0 in `folder`, which holds none yet, of the parameters in a safetensors file and of first
// values for everything else that the plan keeps. The file holds the plan's parameters by name, as
// --parameters and `shardrun checkpoint export` write them; with `cast` also in another floating-point type (F16, BF16,
// F32, F64), rounded to the nearest. Throws Failure: unreadable_file; other_model, an error for each of the first
// twenty arrays that are missing, too many or of another type, one that counts all where there are more, and one that
// says which names and types are expected where a name is at fault; those of CheckpointFolder.
void import_parameters(const Plan& plan, const std::string& file, const std::string& folder, bool cast = false,
                       const CheckpointFolder::Report& report = {});

}  // namespace shardscope
