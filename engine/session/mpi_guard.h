#pragma once

#include <string>

#include "engine/session/child_process.h"

namespace shardscope {

// The processes of Open MPI (mpirun, its daemons, the ranks) of one run talk among themselves alone, on one address:
// engine/mpi_guard, a library that is loaded into each of them before Open MPI, sees to it.

// 256 random bits as text, the same for all processes of a run. Throws Failure (host_link).
std::string new_mpi_token();

// Is the library beside this program?
bool has_mpi_guard();
std::string mpi_guard_path();
// "warning: FILE is missing: ...", what that means for a run.
std::string mpi_guard_missing();

// For the environment of mpirun or a daemon, whose children inherit it. `address`: where they listen; empty: on all
// interfaces, still for each other alone. `networks` ("10.99.0.0/24,..."): where they connect to each other, and nobody
// else is sent the token; empty: not known. Empty where there is no library, or no token.
ChildProcess::Environment mpi_guard_environment(const std::string& token, const std::string& address,
                                                const std::string& networks);

}  // namespace shardscope
