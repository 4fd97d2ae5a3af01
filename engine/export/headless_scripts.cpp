#include "engine/export/headless_scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/plural.h"
#include "engine/plan/host_memory.h"

namespace shardscope {

namespace {

// Finds the program, and verifies the folder.
constexpr std::string_view check_first = R"sh(shardrun=${SHARDRUN:-shardrun}
"$shardrun" export --check "$folder" || exit 2
if [ "${1-}" = --check ]; then exit 0; fi
)sh";

constexpr std::string_view own_folder = R"sh(folder=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 2
)sh";

// given NAME WORD...: whether the option is among the words, as NAME VALUE or NAME=VALUE, and $value is what it has.
constexpr std::string_view find_given = R"sh(given() {
  name=$1
  while shift; [ $# -gt 0 ]; do
    case $1 in
      "$name") value=${2-}; return 0 ;;
      "$name"=*) value=${1#*=}; return 0 ;;
    esac
  done
  return 1
}
given --machine "$@" || given --profile "$@" || set -- --machine "$folder/machine.json" "$@"
)sh";

constexpr std::string_view train = R"sh("$shardrun" train "$folder/run.json" "$@")sh";

// No longer than what Linux takes for the path of a socket (sun_path). Else it is in a folder of the user's own, where
// nobody else can make or take a name; it stays, and is empty when the run has ended.
constexpr std::string_view choose_socket = R"sh(if ! given --socket "$@"; then
  socket=${SOCKET:-$folder/socket}
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
  set -- --socket "$socket" "$@"
fi
)sh";

// Beside what the arena holds: the program, its libraries and MPI's buffers.
constexpr int64_t beside_arena_bytes = int64_t{256} << 20;

std::string node_lines(const std::vector<int>& ranks_per_host) {
  const size_t nodes = std::max<size_t>(ranks_per_host.size(), 1);
  std::string lines = fmt::format("#SBATCH --nodes={}\n", nodes);
  if (nodes > 1 && std::ranges::count(ranks_per_host, ranks_per_host.front()) == std::ssize(ranks_per_host))
    lines += fmt::format("#SBATCH --ntasks-per-node={}\n", ranks_per_host.front());
  return lines;
}

// Slurm holds the ranks of a node to what all of them may have, so what these need on the average of one node.
int64_t most_rank_bytes(const HeadlessFacts& facts) {
  if (!facts.trains) return facts.rank_bytes;
  int64_t most = 0;
  RankRange ranks;
  for (int count : facts.ranks_per_host.empty() ? std::vector{facts.ranks} : facts.ranks_per_host) {
    ranks = {ranks.first + ranks.count, count};
    most = std::max(most, (ranks.sum(facts.checkpoint_bytes) + count - 1) / count);
  }
  return facts.rank_bytes + most;
}

// Twice what the plan predicts, and ten minutes to start and end; a longer run goes on when it is started again.
std::string time_limit(const HeadlessFacts& facts) {
  constexpr double longest_minutes = 24 * 60, start_and_end_minutes = 10;
  const double predicted = 2 * static_cast<double>(facts.steps) * facts.step_seconds / 60;
  const auto minutes = static_cast<int>(std::ceil(std::min(predicted + start_and_end_minutes, longest_minutes)));
  return fmt::format("{:02}:{:02}:00", minutes / 60, minutes % 60);
}

// As many as are predicted to take ten minutes.
int64_t steps_between_checkpoints(const HeadlessFacts& facts) {
  constexpr double seconds = 600;
  if (facts.step_seconds <= 0) return std::max<int64_t>(facts.steps, 1);
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(seconds / facts.step_seconds, 1e15)));
}

// Checkpoints in the folder, from which a job that is started again goes on, whatever it was first resumed from. Then
// it adds to its --jsonl file; what can only be new (a record, and with --force that file) has another name, as
// free_name() gives.
constexpr std::string_view continue_script = R"sh(change() {
  words=()
  option=$1 changed=$2
  shift 2
  while [ $# -gt 0 ]; do
    case $1 in
      "$option") words+=("$option" "$changed"); shift ;;
      "$option"=*) words+=("$option=$changed") ;;
      *) words+=("$1") ;;
    esac
    shift
  done
}
checkpoints=${CHECKPOINTS:-$folder/checkpoints}
if given --checkpoint "$@"; then checkpoints=$value; else set -- --checkpoint "$checkpoints" "$@"; fi
given --save-every "$@" || set -- --save-every SAVE_EVERY "$@"
restarts=${SLURM_RESTART_COUNT:-0}
if ls -d "$checkpoints"/step_* >/dev/null 2>&1; then
  if ! given --resume "$@"; then
    set -- --resume "$checkpoints" "$@"
  elif [ "$restarts" -gt 0 ]; then
    change --resume "$checkpoints" "$@"
    set -- "${words[@]}"
  fi
fi
if [ "$restarts" -gt 0 ]; then
  if given --jsonl "$@" && ! given --append "$@" && ! given --force "$@"; then set -- --append "$@"; fi
  for output in --record --jsonl; do
    given "$output" "$@" || continue
    file=$value
    if [ "$output" = --jsonl ] && given --append "$@"; then continue; fi
    case $file in - | /dev/*) continue ;; esac
    while [[ $file == ?*/ ]]; do file=${file%/}; done
    change "$output" "$file.$((restarts + 1))" "$@"
    set -- "${words[@]}"
  done
fi
)sh";

// Slurm tells the script by USR1 that time is running out: the run ends after its step with a checkpoint, and is put
// into the queue again.
constexpr std::string_view supervise = R"sh(run=
time_is_up=
signalled=
trap 'signalled=1; time_is_up=1; [ -z "$run" ] || kill -TERM "$run"' USR1
trap 'signalled=1; [ -z "$run" ] || kill -TERM "$run"' TERM INT
set -- --bind-cpus "$@"
TRAIN &
run=$!
while wait "$run"; code=$?; [ -n "$signalled" ]; do signalled=; done
if [ -n "$time_is_up" ] && [ "$code" = 143 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
)sh";

std::string with(std::string_view text, std::string_view word, const std::string& value) {
  const size_t at = text.find(word);
  return std::string(text.substr(0, at)) + value + std::string(text.substr(at + word.size()));
}

std::string hosts_text(const HeadlessFacts& facts) {
  return facts.hosts.empty() ? "this machine" : host_list_text(facts.hosts);
}

}  // namespace

std::string hosts_file(const HeadlessFacts& facts) {
  std::string lines;
  for (const HostRanks& host : facts.hosts) lines += fmt::format("{} slots={}\n", host.name, host.ranks);
  if (lines.empty()) lines = fmt::format("localhost slots={}\n", facts.ranks);
  return fmt::format(
      "# A host a line, and how many of the run's {} it takes. Each needs shardrun and this folder at the same paths.\n"
      "{}",
      counted(facts.ranks, "rank"), lines);
}

std::string train_script(const HeadlessFacts& facts) {
  return fmt::format("#!/bin/sh\n# Trains {} on {} of {}, or of --hosts h0:4,h1:4.\n{}{}{}{}exec {}\n", facts.model,
                     counted(facts.ranks, "rank"), hosts_text(facts), own_folder, check_first, find_given,
                     choose_socket, train);
}

std::string mpirun_script(const HeadlessFacts& facts) {
  return fmt::format(
      "#!/bin/sh\n# Trains {} under plain mpirun, on the hosts that `hosts` lists.\n{}{}{}"
      "if [ \"$(id -u)\" = 0 ]; then root=--allow-run-as-root; else root=; fi\n"
      "if [ -z \"${{GOMP_SPINCOUNT-}}${{OMP_WAIT_POLICY-}}\" ]; then spin='-x GOMP_SPINCOUNT=20000'; else spin=; fi\n"
      "exec \"${{MPIRUN:-mpirun}}\" $root $spin --hostfile \"$folder/hosts\" --oversubscribe --bind-to none "
      "--mca mpi_yield_when_idle 1 -n {} \\\n  {}\n",
      facts.model, own_folder, check_first, find_given, facts.ranks, train);
}

std::string slurm_script(const HeadlessFacts& facts) {
  constexpr int64_t mebibyte = 1 << 20;
  const int64_t bytes_per_cpu = (most_rank_bytes(facts) + beside_arena_bytes) / facts.threads_per_rank;
  return fmt::format(
      R"sh(#!/bin/bash
#SBATCH --job-name=shardscope-{0}
#SBATCH --ntasks={1}
{2}#SBATCH --cpus-per-task={3}
#SBATCH --threads-per-core=1
#SBATCH --mem-per-cpu={4}M
#SBATCH --time={5}
#SBATCH --output=%x-%j.log
{6}# Trains {0} in an allocation of Slurm. Submit it from its own folder, which all nodes see: sbatch job.sbatch
{7}folder=${{SLURM_SUBMIT_DIR:-$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)}}
if [ ! -f "$folder/run.json" ]; then
  echo "$folder has no run.json: submit job.sbatch from its own folder" >&2
  exit 2
fi
{8}{9}{10}{11}{12})sh",
      facts.model, facts.ranks, node_lines(facts.ranks_per_host), facts.threads_per_rank,
      (bytes_per_cpu + mebibyte - 1) / mebibyte, time_limit(facts),
      facts.trains ? "#SBATCH --open-mode=append\n#SBATCH --requeue\n#SBATCH --signal=B:USR1@120\n" : "",
      facts.trains ? "# Its checkpoints are in checkpoints/ there, or where CHECKPOINTS or --checkpoint "
                     "say. Two minutes before its time\n# is up, or when a node is lost, it is put into "
                     "the queue again, and goes on from the newest.\n"
                   : "",
      check_first, find_given,
      facts.trains ? with(continue_script, "SAVE_EVERY", std::to_string(steps_between_checkpoints(facts))) : "",
      choose_socket, with(supervise, "TRAIN", std::string(train)));
}

std::string headless_readme(const HeadlessFacts& facts, bool with_slurm) {
  return fmt::format(
      R"sh(A run of Shardscope, to be trained elsewhere: {0} on {1} rank{2}.

  ./train.sh --check     verifies that this machine's shardrun makes the very plan that was exported
  ./train.sh             verifies, and trains on {5}; --hosts h0:4,h1:4 on {6}
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
      with_slurm
          ? "  sbatch job.sbatch      in an allocation of Slurm; submit it from this folder. Its checkpoints are in "
            "checkpoints/,\n"
            "                         and a job that runs out of time or loses a node goes on from them by itself. It\n"
            "                         adds to its --jsonl file then, and records to a folder of its own each time: of\n"
            "                         --record DIR to DIR, DIR.2, DIR.3, ...\n"
          : "",
      with_slurm ? " or job.sbatch" : "", hosts_text(facts), facts.hosts.empty() ? "several" : "others");
}

}  // namespace shardscope
