#include "engine/session/preflight.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/plural.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

// mpirun holds some pipes and a connection for each rank, and each rank connections to its peers.
constexpr rlim_t open_files = 64, open_files_per_rank = 8;
// In files, two of 4 MiB by which PMIx shares what the ranks tell each other.
constexpr int64_t mpi_bytes = 9 << 20, mpi_bytes_per_rank = 64 << 10;
constexpr int64_t full_disk_bytes = 64 << 10;
// Of a process besides its arena: libraries, and stacks and heaps of its threads.
constexpr rlim_t process_bytes = rlim_t{1} << 30;

// Of a rank, and of each of its threads; what is ample; in KiB.
constexpr rlim_t least_stack = 512, ample_stack = 4096;

std::optional<Error> lacks_open_files(int ranks) {
  const rlim_t wanted = open_files + open_files_per_rank * static_cast<rlim_t>(ranks);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return std::nullopt;
  if (limit.rlim_max < wanted) {
    return Error{"host_limits",
                 fmt::format("{} open files are allowed, {} {} {}", limit.rlim_max, counted(ranks, "rank"),
                             plural(ranks, "needs", "need"), wanted),
                 "", fmt::format("ulimit -n {}", wanted)};
  }
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return std::nullopt;
}

std::optional<Error> lacks_file_size(int64_t bytes) {
  rlimit limit{};
  const bool fits = ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
                    limit.rlim_cur >= static_cast<rlim_t>(bytes);
  if (fits) return std::nullopt;
  return Error{
      "host_limits",
      fmt::format("the file size limit is {} KiB, a rank needs a file of {} KiB", limit.rlim_cur >> 10, bytes >> 10),
      "", "ulimit -f unlimited"};
}

std::optional<Error> lacks_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= ample_stack << 10) return std::nullopt;
  if (limit.rlim_max < least_stack << 10) {
    return Error{"host_limits",
                 fmt::format("the stack limit is {} KiB, a rank needs {} KiB", limit.rlim_max >> 10, least_stack), "",
                 fmt::format("ulimit -s {}", 2 * ample_stack)};
  }
  limit.rlim_cur = std::min(limit.rlim_max, ample_stack << 10);
  ::setrlimit(RLIMIT_STACK, &limit);
  return std::nullopt;
}

// Without a bound where it is not known.
int64_t free_bytes(const std::string& directory) {
  struct statvfs room {};
  if (::statvfs(directory.c_str(), &room) != 0) return std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(room.f_bavail) * static_cast<int64_t>(room.f_frsize);
}

std::optional<Error> lacks_room(const std::string& directory, int64_t bytes) {
  const int64_t free = free_bytes(directory);
  if (free >= bytes) return std::nullopt;
  return Error{
      "host_limits",
      fmt::format("no space left for the session's files: {} KiB are free, {} KiB are needed", free >> 10, bytes >> 10),
      in_file(directory), "set TMPDIR to a place with more room"};
}

}  // namespace

void check_host_limits(const HostNeeds& needs) {
  const int64_t telemetry = TelemetryWriter::file_bytes();
  std::vector<Error> errors;
  for (const std::optional<Error>& error :
       {lacks_open_files(needs.ranks), lacks_stack(), lacks_file_size(std::max(needs.rank_file_bytes, telemetry)),
        lacks_room(needs.directory, mpi_bytes + needs.ranks * (telemetry + mpi_bytes_per_rank))}) {
    if (error) errors.push_back(*error);
  }
  if (!errors.empty()) throw Failure(std::move(errors));
}

std::string full_disk_note(const std::string& directory) {
  if (free_bytes(directory) >= full_disk_bytes) return "";
  return fmt::format("; no space is left on the disk of its files, {}", directory);
}

std::string address_space_note(int64_t rank_bytes) {
  rlimit limit{};
  const bool is_ample = ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
                        limit.rlim_cur >= process_bytes + static_cast<rlim_t>(rank_bytes);
  return is_ample
             ? ""
             : fmt::format("; the address space of a process is limited to {} MiB (ulimit -v)", limit.rlim_cur >> 20);
}

std::string stack_note() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= ample_stack << 10) return "";
  return fmt::format("; the stack of a process is limited to {} KiB (ulimit -s)", limit.rlim_cur >> 10);
}

}  // namespace shardscope
