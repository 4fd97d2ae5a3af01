#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/config/run_file_keys.h"
#include "engine/machine/machine.h"

namespace shardscope {

// A host of two cores and 16 GiB, by standard rates: what is priced by it is the same everywhere.
Machine reference_host();

// This host, with the cores and the memory that this process may use (control_group.h), by standard rates: ranks share
// its cores and exchange through shared memory.
Machine standard_host();

// The same by what `shardrun calibrate` measured, where its file exists. Throws Failure where the file is there and not
// a machine, or where an earlier version's profile is there in its place.
Machine host_machine();

// The machine of a name: `host_name` is host_machine(), others those of the library (machine_library.h), then paths of
// files. Throws Failure (unknown_machine, or the faults of the file).
inline constexpr std::string_view host_name = run_file::this_host;
Machine find_machine(const std::string& name);

// Where calibration keeps the host: $SHARDSCOPE_PROFILE, else machine.json in the user's configuration folder.
std::filesystem::path machine_path();

}  // namespace shardscope
