#include "engine/session/mpi_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "engine/session/host_link.h"

namespace shardscope {

namespace {

constexpr const char* library_name = "libshardscope_mpi_guard.so";

// The loader takes spaces and colons in LD_PRELOAD for the ends of names; an open file of this process has neither.
std::string loadable_path() {
  const std::string path = mpi_guard_path();
  if (path.find_first_of(" :\t\n") == std::string::npos) return path;
  static const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
}

// What a variable says already, behind a separator; empty where it says nothing.
std::string preceded_by(const char* separator, const char* variable) {
  const char* text = std::getenv(variable);
  return text && *text ? std::string(separator) + text : "";
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool has_address_sanitizer = true;
#else
constexpr bool has_address_sanitizer = false;
#endif

}  // namespace

std::string mpi_guard_path() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path() / library_name;
}

std::string new_mpi_token() { return new_host_secret(); }

bool has_mpi_guard() { return ::access(mpi_guard_path().c_str(), R_OK) == 0; }

std::string mpi_guard_missing() {
  return "warning: " + mpi_guard_path() + " is missing: connections of others to the ports of Open MPI can end the run";
}

ChildProcess::Environment mpi_guard_environment(const std::string& token, const std::string& address,
                                                const std::string& networks) {
  if (token.empty() || !has_mpi_guard()) return {};
  ChildProcess::Environment all = {{"LD_PRELOAD", loadable_path() + preceded_by(" ", "LD_PRELOAD")},
                                   {"SHARDSCOPE_MPI_TOKEN", token},
                                   {"SHARDSCOPE_MPI_ADDRESS", address},
                                   {"SHARDSCOPE_MPI_NETWORKS", networks}};
  // A rank that is built with it would refuse any library that is loaded before its own.
  if (has_address_sanitizer) {
    all.emplace_back("ASAN_OPTIONS", "verify_asan_link_order=0" + preceded_by(":", "ASAN_OPTIONS"));
  }
  return all;
}

}  // namespace shardscope
