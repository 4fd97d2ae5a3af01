#include <fmt/format.h>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

bool is_stopped(int pid) {
  const auto info = see_process(pid);
  return info && info->state == 'T';
}

Fault pause(const std::string& name, int signal, bool ranks_too) {
  Fault fault;
  fault.name = name;
  fault.phases = {Phase::joining, Phase::computing, Phase::exchanging};
  fault.expected = {"", {0}, 60};
  fault.prepare = [](Start& start, Random&) { ask_for_all_steps(start, 3000); };
  fault.inject = [signal, ranks_too](Run& run, Random&) {
    if (signal == SIGTSTP) ::kill(-run.launcher(), signal);  // as a terminal does
    else send(run.launcher(), signal);
    if (!run.run_until([&] { return is_stopped(run.launcher()); }, 3000))
      throw Complaint("the launcher has not stopped");
    for (int number = 0; ranks_too && number < run.start().ranks; ++number) {
      const auto rank = run.rank(number);
      if (rank && !run.run_until([&] { return is_stopped(*rank); }, 3000)) {
        throw Complaint(fmt::format("rank {} goes on while the launcher is stopped", number));
      }
    }
    run.run_for(4000);
    ::kill(-run.launcher(), SIGCONT);
  };
  fault.check = check_all_steps;
  return fault;
}

}  // namespace

std::vector<Fault> pauses() {
  return {pause("Ctrl-Z and fg", SIGTSTP, true), pause("SIGSTOP to the launcher, SIGCONT", SIGSTOP, false)};
}

}  // namespace shardscope::faults
