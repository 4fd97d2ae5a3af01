#include "engine/session/mpirun.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "engine/session/shell_server.h"

namespace shardscope {

namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

constexpr const char* loopback = "127.0.0.0/8";

// Over these networks alone.
Words network_options(const std::string& networks) {
  return {"--mca", "oob_tcp_if_include", networks, "--mca", "btl_tcp_if_include", networks};
}

Words common_options() {
  Words options = {"mpirun", "--oversubscribe", "--bind-to", "none", "--tag-output"};
  // Where there is InfiniBand, others than ob1 would be chosen, for which what is asked of the btl does not hold.
  append(options, {"--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1", "--mca", "btl", "self,tcp"});
  // Others are tried out with objects in /dev/shm, or of System V, that a crash amid such leaves there.
  append(options, {"--mca", "shmem", "mmap"});
  // A rank's threads meet after each op: they spin for some 20 us, where OpenMP's default is milliseconds, then sleep.
  if (!std::getenv("GOMP_SPINCOUNT") && !std::getenv("OMP_WAIT_POLICY"))
    append(options, {"-x", "GOMP_SPINCOUNT=20000"});
  if (::geteuid() == 0) append(options, {"--allow-run-as-root"});
  return options;
}

// Open MPI splits its remote shell's command at spaces and colons, and knows no quotes. This program's path may have
// both; the name that the system gives a program while it runs has neither.
std::string remote_shell() { return fmt::format("/proc/{}/exe remote-shell", ::getpid()); }

}  // namespace

std::vector<std::string> mpirun_command(const std::string& program, const std::string& session_directory, int ranks,
                                        const std::vector<std::string>& more) {
  Words command = common_options();
  append(command, network_options(loopback));
  append(command, {"--mca", "orte_tmpdir_base", session_directory + "/tmp", "-n", std::to_string(ranks)});
  append(command, {program, "rank", "--session", session_directory});
  append(command, more);
  return command;
}

// Its daemons are started by our shell alone, stay in the foreground, and know hosts by our names.
std::vector<std::string> mpirun_command(const std::string& program, const MpirunHosts& hosts, int ranks,
                                        const std::vector<std::string>& more) {
  Words command = {"env", fmt::format("{}={}", shell_variable, hosts.shell_socket)};
  append(command, common_options());
  append(command, {"--mca", "plm", "rsh", "--mca", "plm_rsh_agent", remote_shell()});
  append(command, {"--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "orte_leave_session_attached", "1"});
  append(command, {"--mca", "if_base_do_not_resolve", "1", "--mca", "ras", "^slurm,gridengine,tm,loadleveler"});
  append(command, network_options(hosts.networks));
  append(command, {"--map-by", "slot", "--host", hosts.list, "-n", std::to_string(ranks), program, "rank"});
  append(command, more);
  return command;
}

Failure with_hint_for_mpirun(const Failure& failure) {
  std::vector<Error> errors = failure.errors();
  for (Error& error : errors) error.hint = "install openmpi-bin, or put Open MPI's mpirun on the PATH";
  return Failure(errors);
}

TaggedLine parse_tagged_line(std::string_view line) {
  std::string text(line);
  int rank = -1, length = 0;
  char stream[4] = "";
  std::sscanf(text.c_str(), "[%*9d,%9d]<std%3[a-z]>:%n", &rank, stream, &length);
  if (length == 0 || rank < 0) return {-1, text};
  std::string tag = text.substr(0, static_cast<size_t>(length));
  text.erase(0, tag.size());
  // A line written in pieces carries its tag before each piece.
  for (size_t at; (at = text.find(tag)) != std::string::npos;) text.erase(at, tag.size());
  return {rank, text};
}

void read_exit_report(std::string_view line, ExitReport& report) {
  if (report.names_culprit()) return;
  std::string text(line);
  int number = 0, signal = 0;
  if (size_t at = text.find("process rank "); at != std::string::npos) {
    size_t exited = text.find("exited on signal ", at);
    if (exited != std::string::npos && std::sscanf(text.c_str() + at, "process rank %6d", &number) == 1 &&
        std::sscanf(text.c_str() + exited, "exited on signal %3d", &signal) == 1) {
      report = {number, signal, std::nullopt};
    }
  } else if (std::sscanf(text.c_str(), " Process name: [[%*9d,%*9d],%6d]", &number) == 1) {
    report.rank = number;
  } else if (report.rank && std::sscanf(text.c_str(), " Exit code: %6d", &number) == 1) {
    report.exit_code = number;
  }
}

}  // namespace shardscope
