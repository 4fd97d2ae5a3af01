#include "engine/export/headless_scripts.h"

#include <fmt/format.h>

#include <algorithm>

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

// No longer than what Linux takes for the path of a socket (sun_path). Else it is in a folder of the user's own, where
// nobody else can make or take a name; it stays, and is empty when the run has ended.
constexpr std::string_view choose_socket = R"sh(socket=${SOCKET:-$folder/socket}
if [ -z "${SOCKET-}" ] && [ "$(printf %s "$socket" | wc -c)" -gt 107 ]; then
  own=/tmp/shardscope-$(id -u)
  mkdir -m 700 "$own" 2>/dev/null
  if [ -L "$own" ] || [ ! -d "$own" ] || [ ! -O "$own" ]; then
    echo "$own is not a folder of yours: choose the run's socket, SOCKET=/path $0" >&2
    exit 2
  fi
  chmod 700 "$own" || exit 2
  socket=$own/$$
  echo "the path of this folder is too long for a socket; this run's is $socket" >&2
fi
)sh";

// Beside what the arena holds: the program, its libraries and MPI's buffers.
constexpr int64_t beside_arena_bytes = int64_t{256} << 20;

// Where the plan was made for one host, Slurm may lay the ranks out as it likes.
std::string node_lines(const std::vector<int>& ranks_per_host) {
  if (ranks_per_host.size() < 2) return "";
  std::string lines = fmt::format("#SBATCH --nodes={}\n", ranks_per_host.size());
  if (std::ranges::count(ranks_per_host, ranks_per_host.front()) == std::ssize(ranks_per_host))
    lines += fmt::format("#SBATCH --ntasks-per-node={}\n", ranks_per_host.front());
  return lines;
}

}  // namespace

std::string hosts_file(const HeadlessFacts& facts) {
  return fmt::format(
      "# A host a line, and how many of the {} ranks it takes. Each needs shardrun and this folder at the same paths.\n"
      "localhost slots={}\n",
      facts.ranks, facts.ranks);
}

std::string train_script(const HeadlessFacts& facts) {
  return fmt::format(
      "#!/bin/sh\n# Trains {} on {} rank{} of this machine, or of --hosts h0:4,h1:4.\n{}{}{}"
      "exec {} --socket \"$socket\" \"$@\"\n",
      facts.model, facts.ranks, facts.ranks == 1 ? "" : "s", own_folder, check_first, choose_socket, train);
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
{5}#SBATCH --cpus-per-task=1
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
{3}{6}exec {4} --socket "$socket" "$@"
)sh",
                     facts.model, facts.ranks, megabytes, check_first, train, node_lines(facts.ranks_per_host),
                     choose_socket);
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

To watch a run that train.sh{4} started here on HOST, forward its socket to the machine with the window,
  ssh -N -o StreamLocalBindUnlink=yes -L /tmp/run.socket:FOLDER/socket HOST
and choose Run, Attach to a socket there: /tmp/run.socket. FOLDER stands for this folder on HOST, in full. Where its
path is too long for a socket, the script says which it takes; SOCKET=/path before the script chooses another.
mpirun.sh opens no socket: such a run cannot be watched, but with --record FOLDER it can be exported from later.
)sh",
      facts.model, facts.ranks, facts.ranks == 1 ? "" : "s",
      with_slurm ? "  sbatch job.sbatch      in an allocation of Slurm; submit it from this folder\n" : "",
      with_slurm ? " or job.sbatch" : "");
}

}  // namespace shardscope
