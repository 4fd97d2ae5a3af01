#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/thread_communicator.h"

namespace shardscope::checks {

// What a rank threw; empty when it returned.
struct Outcome {
  std::string code;
  std::string text;
};

// Runs `body` as N ranks, each in its own thread with its own arena. A rank that throws aborts the others, unless
// `abort_on_failure` is false.
inline std::vector<Outcome> run_ranks(int ranks, size_t arena_bytes,
                                      const std::function<void(Communicator&, std::span<std::byte>)>& body,
                                      bool abort_on_failure = true) {
  std::vector<std::unique_ptr<Communicator>> communicators = make_thread_communicators(ranks);
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  std::vector<std::vector<std::byte>> arenas(outcomes.size());  // peers may read them until all have ended
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    threads.emplace_back([&, rank] {
      arenas[rank].resize(arena_bytes);
      try {
        body(*communicators[rank], arenas[rank]);
      } catch (const Failure& failure) {
        outcomes[rank] = {failure.errors().front().code, failure.what()};
      } catch (const std::exception& error) {
        outcomes[rank] = {"check", error.what()};
      }
      if (!outcomes[rank].code.empty() && abort_on_failure) communicators[rank]->abort();
      communicators[rank].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

// The first failure that is not the echo of another rank's; empty when all ranks returned.
inline std::string first_failure(const std::vector<Outcome>& outcomes) {
  std::string echo;
  for (const Outcome& outcome : outcomes) {
    if (outcome.code == "comm_aborted") echo = outcome.text;
    if (!outcome.code.empty() && outcome.code != "comm_aborted") return outcome.text;
  }
  return echo;
}

}  // namespace shardscope::checks
