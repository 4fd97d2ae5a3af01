#include "engine/comm/mpi_version.h"

#include <mpi.h>

namespace shardscope {

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "MPI";
  const std::string version(text, static_cast<size_t>(length));
  return version.substr(0, version.find(','));
}

}  // namespace shardscope
