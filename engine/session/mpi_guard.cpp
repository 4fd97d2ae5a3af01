#include "engine/session/mpi_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "engine/session/host_link.h"

namespace shardscope {

namespace {

constexpr const char* library_name = "libshardscope_mpi_guard.so";

std::string library_path() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path() / library_name;
}

// The loader takes spaces and colons in LD_PRELOAD for the ends of names; an open file of this process has neither.
std::string loadable_path() {
  const std::string path = library_path();
  if (path.find_first_of(" :\t\n") == std::string::npos) return path;
  static const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
}

}  // namespace

std::string new_mpi_token() { return new_host_secret(); }

bool has_mpi_guard() { return ::access(library_path().c_str(), R_OK) == 0; }

std::string mpi_guard_missing() {
  return "warning: " + library_path() + " is missing: connections of others to the ports of Open MPI can end the run";
}

ChildProcess::Environment mpi_guard_environment(const std::string& token, const std::string& address) {
  if (token.empty() || !has_mpi_guard()) return {};
  const char* others = std::getenv("LD_PRELOAD");
  return {{"LD_PRELOAD", loadable_path() + (others && *others ? std::string(" ") + others : "")},
          {"SHARDSCOPE_MPI_TOKEN", token},
          {"SHARDSCOPE_MPI_ADDRESS", address}};
}

}  // namespace shardscope
