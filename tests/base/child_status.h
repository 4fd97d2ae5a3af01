#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>

namespace shardscope::test {

// Runs `body` in a process of its own. Returns how that ended, as waitpid gives it: exit code 0, or 1 where it threw.
inline int status_of(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace shardscope::test
