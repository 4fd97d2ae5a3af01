#include "engine/comm/mpi_runtime.h"

#include <mpi.h>
#include <array>
#include <cstdlib>
#include <string>

#include "engine/base/error.h"

namespace shardscope {

void check_mpi(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  bool known = MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS;
  std::string message = known ? std::string(text.data(), static_cast<size_t>(length)) : std::to_string(code);
  throw Failure(Error{"comm_mpi", std::string(call) + " failed: " + message, on_rank(rank), {}});
}

std::optional<int> rank_of_environment() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(variable);
    if (text && *text) return std::atoi(text);
  }
  return std::nullopt;
}

MpiRuntime::MpiRuntime(int& argc, char**& argv) {
  // Ranks of one host share memory of ours; Open MPI's would lie in /dev/shm, and end us where that is full. Its ofi is
  // for one-sided communication, which we do not use; in 4.1.4 MPI_Init could wait there for a lock that it held
  // (opal_common_ofi_export_memory_monitor).
  ::setenv("OMPI_MCA_btl", "^vader,sm,ofi", 0);
  // Open MPI's handler of crashes (SIGSEGV ...) asks for memory, which never comes where the crash came amid such.
  ::setenv("OMPI_MCA_opal_signal", "", 0);
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread", 0);
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", 0);
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", 0);
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank", 0);
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size", rank_);
  if (provided < MPI_THREAD_SERIALIZED) {
    throw Failure(Error{"comm_mpi", "this MPI cannot be used from more than one thread", on_rank(rank_),
                        "a build with MPI_THREAD_SERIALIZED"});
  }
}

MpiRuntime::~MpiRuntime() { MPI_Finalize(); }

void MpiRuntime::abort(int exit_code) noexcept {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace shardscope
