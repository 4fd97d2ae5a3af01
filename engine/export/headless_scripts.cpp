#include "engine/export/headless_scripts.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

// Finds the program, and verifies the folder.
constexpr std::string_view check_first = R"sh(shardrun=${SHARDRUN:-shardrun}
"$shardrun" export --check "$folder" || exit 2
if [ "${1-}" = --check ]; then exit 0; fi
)sh";

constexpr std::string_view own_folder = R"sh(folder=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 2
)sh";

constexpr std::string_view train = R"sh("$shardrun" train "$folder/run.json" --profile "$folder/profile.json")sh";

// Beside what the arena holds: the program, its libraries and MPI's buffers.
constexpr int64_t beside_arena_bytes = int64_t{256} << 20;

}  // namespace

std::string hosts_file(const HeadlessFacts& facts) {
  return fmt::format(
      "# A host a line, and how many of the {} ranks it takes. Each needs shardrun and this folder at the same paths.\n"
      "localhost slots={}\n",
      facts.ranks, facts.ranks);
}

std::string train_script(const HeadlessFacts& facts) {
  return fmt::format(
      "#!/bin/sh\n# Trains {} on {} rank{} of this machine, or of --hosts h0:4,h1:4.\n{}{}"
      "exec {} --socket \"${{SOCKET:-$folder/socket}}\" \"$@\"\n",
      facts.model, facts.ranks, facts.ranks == 1 ? "" : "s", own_folder, check_first, train);
}

std::string mpirun_script(const HeadlessFacts& facts) {
  return fmt::format(
      "#!/bin/sh\n# Trains {} under plain mpirun, on the hosts that `hosts` lists.\n{}{}"
      "if [ \"$(id -u)\" = 0 ]; then root=--allow-run-as-root; else root=; fi\n"
      "if [ -z \"${{GOMP_SPINCOUNT-}}${{OMP_WAIT_POLICY-}}\" ]; then spin='-x GOMP_SPINCOUNT=20000'; else spin=; fi\n"
      "exec \"${{MPIRUN:-mpirun}}\" $root $spin --hostfile \"$folder/hosts\" --oversubscribe --bind-to none "
      "--mca mpi_yield_when_idle 1 -n {} \\\n  {} \"$@\"\n",
      facts.model, own_folder, check_first, facts.ranks, train);
}

std::string slurm_script(const HeadlessFacts& facts) {
  const int64_t megabytes = (facts.rank_bytes + beside_arena_bytes + (1 << 20) - 1) >> 20;
  return fmt::format(R"sh(#!/bin/bash
#SBATCH --job-name=shardscope-{0}
#SBATCH --ntasks={1}
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu={2}M
#SBATCH --output=%x-%j.log
#SBATCH --signal=B:TERM@60
# Trains {0} in an allocation of Slurm. Submit it from its own folder, which all nodes see: sbatch job.sbatch
# A minute before the allocation ends the run ends after its step, with a checkpoint where --checkpoint names a folder.
folder=${{SLURM_SUBMIT_DIR:-$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)}}
if [ ! -f "$folder/run.json" ]; then
  echo "$folder has no run.json: submit job.sbatch from its own folder" >&2
  exit 2
fi
{3}exec {4} --socket "${{SOCKET:-$folder/socket}}" "$@"
)sh",
                     facts.model, facts.ranks, megabytes, check_first, train);
}

std::string headless_readme(const HeadlessFacts& facts, bool with_slurm) {
  return fmt::format(
      R"sh(A run of Shardscope, to be trained elsewhere: {0} on {1} rank{2}.

  ./train.sh --check     verifies that this machine's shardrun makes the very plan that was exported
  ./train.sh             verifies, and trains on this machine; --hosts h0:4,h1:4 on several
  ./mpirun.sh            the same under plain mpirun, on the hosts that the file `hosts` lists
{3}
What else is given to them goes to `shardrun train`: --jsonl FILE, --checkpoint FOLDER, --record FOLDER, ...
SHARDRUN=/path/to/shardrun says which program, where it is not on the PATH; every host must have it at the same path.

To watch the run, forward the socket that it makes here, and attach a window to it:
  ssh -L /tmp/run.socket:FOLDER/socket HOST
(FOLDER stands for this folder on HOST; SOCKET=/path before ./train.sh chooses another place.)
)sh",
      facts.model, facts.ranks, facts.ranks == 1 ? "" : "s",
      with_slurm ? "  sbatch job.sbatch      in an allocation of Slurm; submit it from this folder\n" : "");
}

}  // namespace shardscope
