#pragma once

#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/mapping.h"
#include "engine/comm/thread_communicator.h"

namespace shardscope::checks {

struct ForkedOutcome {
  int signal = 0;    // that ended the process
  std::string code;  // of what it threw; empty when it returned
  std::string text;
};

// Runs `body` as N processes forked from this one, each with a communicator that takes short calls.
inline std::vector<ForkedOutcome> run_forked_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  struct Note {
    std::array<char, 64> code;
    std::array<char, 960> text;
  };
  Mapping memory = Mapping::inherited(ranks * static_cast<int64_t>(sizeof(Note)));
  auto* notes = reinterpret_cast<Note*>(memory.data());
  std::vector<std::unique_ptr<Communicator>> bootstraps = make_thread_communicators(ranks);
  std::vector<pid_t> processes;
  for (size_t rank = 0; rank < static_cast<size_t>(ranks); ++rank) {
    pid_t process = fork();
    if (process == 0) {
      auto note = [&](const std::string& code, const std::string& text) {
        std::snprintf(notes[rank].code.data(), notes[rank].code.size(), "%s", code.c_str());
        std::snprintf(notes[rank].text.data(), notes[rank].text.size(), "%s", text.c_str());
      };
      try {
        body(*bootstraps[rank]);
      } catch (const Failure& failure) {
        note(failure.errors().front().code, failure.what());
      } catch (const std::exception& error) {
        note("check", error.what());
      }
      if (notes[rank].code[0] != 0) bootstraps[rank]->abort();
      _exit(0);
    }
    processes.push_back(process);
  }
  std::vector<ForkedOutcome> outcomes;
  std::vector<int> statuses(processes.size());
  for (size_t rank = processes.size(); rank-- > 0;) waitpid(processes[rank], &statuses[rank], 0);
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    int signal = WIFSIGNALED(statuses[rank]) ? WTERMSIG(statuses[rank]) : 0;
    outcomes.push_back({signal, notes[rank].code.data(), notes[rank].text.data()});
  }
  return outcomes;
}

// The first failure that is not the echo of another rank's; empty when all ranks returned.
inline std::string first_failure(const std::vector<ForkedOutcome>& outcomes) {
  std::string echo;
  for (const ForkedOutcome& outcome : outcomes) {
    if (outcome.signal) return "signal " + std::to_string(outcome.signal);
    if (outcome.code == "comm_aborted") echo = outcome.text;
    if (!outcome.code.empty() && outcome.code != "comm_aborted") return outcome.text;
  }
  return echo;
}

}  // namespace shardscope::checks
