#pragma once

#include <exception>
#include <optional>
#include <string>

#include "engine/session/status_page.h"

namespace shardscope {

// A rank's place at the page of its session: taken as the first thing in its main, long before MPI is up.
class RankRegistration {
 public:
  // Without a session (a person's own mpirun), or where the session has no page, nobody watches, and nothing happens.
  // Else this process dies with the one that started it, at once where that has died already, and is signed in as
  // `rank`, which its launcher has given it. Throws Failure (session_file).
  RankRegistration(const std::string& session_directory, std::optional<int> rank);

  bool is_watched() const { return page_ && rank_ >= 0; }
  void enter(RankPhase phase) noexcept;
  // What ends this rank; whoever watches says it. An error of the communicator is taken for a peer's fault.
  void fail(const std::exception& error) noexcept;

 private:
  std::optional<StatusPage> page_;
  int rank_;
};

}  // namespace shardscope
