#pragma once

#include <optional>

namespace shardscope {

// MPI for the life of a process: initialised by the constructor, finalised by the destructor. Errors of MPI are
// returned to us instead of ending the process. MPI is called by one thread at a time.
class MpiRuntime {
 public:
  // Throws Failure comm_mpi.
  MpiRuntime(int& argc, char**& argv);
  ~MpiRuntime();
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Ends this process and all others of the run, now. For a rank that cannot go on: finalising would wait for ranks
  // that may never come.
  [[noreturn]] void abort(int exit_code) noexcept;

 private:
  int rank_ = 0;
  int size_ = 1;
};

// The rank that this process will have, known before MPI is up where its launcher has put it into the environment.
std::optional<int> rank_of_environment();

// Throws Failure comm_mpi with MPI's own text, naming `call` and the rank, when `code` is an error.
void check_mpi(int code, const char* call, int rank);

}  // namespace shardscope
