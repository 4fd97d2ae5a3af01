#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// What a run will need of this host, besides time and memory.
struct HostNeeds {
  std::string directory;  // in which the session keeps its files
  int ranks = 1;
  int64_t rank_file_bytes = 0;  // the largest file that a rank makes: its arena, where ranks share theirs
};

// Throws Failure (host_limits) with all limits of this process that the run would break: open files and the stack (the
// soft limits are raised as far as they may be), the size of a file, room for the session's files. Found out later,
// each would only show as a rank that hangs or dies.
void check_host_limits(const HostNeeds& needs);

// "; no space is left on the disk of its files, DIR", for the sentence on a failure that came while a disk was full;
// else empty.
std::string full_disk_note(const std::string& directory);

// "; the address space of a process is limited to 100 MiB (ulimit -v)", for the same, where ranks of `rank_bytes` and
// mpirun may lack it: what then fails says so or not, as it comes; else empty.
std::string address_space_note(int64_t rank_bytes);

// "; the stack of a process is limited to 512 KiB (ulimit -s)", for the same, where that may be too little; else empty.
std::string stack_note();

}  // namespace shardscope
