#pragma once

#include <filesystem>

#include "engine/machine/machine.h"

namespace shardscope {

// This host, with the cores and the memory that this process may use (control_group.h), by standard rates: ranks share
// its cores and exchange through shared memory.
Machine standard_host();

// The same by what `shardrun calibrate` measured, where its file exists. Throws Failure where the file is there and not
// a machine, or where an earlier version's profile is there in its place.
Machine host_machine();

// Where calibration keeps the host: $SHARDSCOPE_PROFILE, else machine.json in the user's configuration folder.
std::filesystem::path machine_path();

}  // namespace shardscope
