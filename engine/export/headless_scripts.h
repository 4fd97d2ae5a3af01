#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/host_list.h"

namespace shardscope {

// The texts of a headless run's folder (engine/export/headless.h).
struct HeadlessFacts {
  std::string model;
  int ranks = 1;
  int64_t rank_bytes = 0;           // that a rank wants of memory
  std::vector<int> ranks_per_host;  // that the plan was made for
  int threads_per_rank = 1;
  int64_t steps = 0;                           // of the whole run
  double step_seconds = 0;                     // predicted
  bool trains = true;                          // else it has nothing to keep in checkpoints
  std::vector<int64_t> checkpoint_bytes = {};  // that each rank copies for one
  std::vector<HostRanks> hosts = {};           // that the run file names; empty: the machine that it is started on
};

std::string hosts_file(const HeadlessFacts& facts);
std::string train_script(const HeadlessFacts& facts);
std::string mpirun_script(const HeadlessFacts& facts);
std::string slurm_script(const HeadlessFacts& facts);
std::string headless_readme(const HeadlessFacts& facts, bool with_slurm);

}  // namespace shardscope
