#pragma once

#include <string>

#include "engine/export/export_source.h"
#include "engine/export/export_target.h"

namespace shardscope {

// A folder that trains a plan elsewhere:
//
//   run.json       the run file; data of up to `copied_data_bytes` lie beside it in data/, larger ones are named where
//                  they are. Of a folder those files are copied that training reads; a link among them is copied as the
//                  file that it leads to, and refused where that is outside the folder (link_outside)
//   machine.json   the machine for which the plan was made
//   plan.json      {"version": "0.1.0", "plan_hash": "8f3c...", "ranks": 8}
//   hosts          those of the run file, with the ranks of each; this machine alone where it names none
//   train.sh       trains on those hosts, or on those of --hosts; clients connect to the folder's `socket`, or where
//                  its path is too long for one, to another that is said
//   mpirun.sh      trains under plain mpirun on the hosts that `hosts` lists; nobody can watch it
//   job.sbatch     trains in an allocation of Slurm (kind slurm) of the nodes, CPUs, memory and time that the plan asks
//                  for, with checkpoints in checkpoints/; where time runs out it ends the run and queues the job again
//                  (scontrol requeue), which goes on from them, as it does where Slurm itself has requeued it: it adds
//                  to its --jsonl file then, and of --record DIR it records to DIR.2, DIR.3, ...
//   README.txt     how
//
// Each script first verifies that the program there makes the very plan that was exported, and with `--check` no more
// than that. $SHARDRUN says which program; what else is given to a script goes to `shardrun train`, in place of what
// the script itself gives: --option VALUE or --option=VALUE.
inline constexpr int64_t copied_data_bytes = int64_t{64} << 20;

enum class Launch : uint8_t { headless, slurm };
void write_headless(const ExportSource& source, Launch launch, ExportTarget& target);

// Verifies such a folder: its files can be read, the version is this program's, and this program makes of its run file
// and machine the plan that was exported. Throws Failure: unreadable_file, bad_export, other_version, other_plan, or
// what the run file's faults are. Returns what to tell a person.
std::string check_headless(const std::string& folder);

}  // namespace shardscope
