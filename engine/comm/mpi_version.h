#pragma once

#include <string>

namespace shardscope {

// Of the MPI library that is loaded: "Open MPI v4.1.4".
std::string mpi_version();

}  // namespace shardscope
