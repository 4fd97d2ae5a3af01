#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>

#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

namespace {

struct Terminal {
  int descriptor = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  std::string path;
  Terminal() {
    if (::grantpt(descriptor) == 0 && ::unlockpt(descriptor) == 0) path = ::ptsname(descriptor);
  }
  ~Terminal() { close(); }
  Terminal(const Terminal&) = delete;
  void close() {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
  }
  void read_all() const {
    char bytes[4096];
    while (::read(descriptor, bytes, sizeof bytes) > 0) {
    }
  }
};

}  // namespace

std::vector<Fault> closed_terminals() {
  Fault fault;
  fault.name = "closed terminal";
  fault.phases = {Phase::joining, Phase::computing, Phase::exchanging};
  fault.expected = {"", {128 + SIGHUP}};
  const auto terminal = std::make_shared<Terminal>();
  fault.prepare = [terminal](Start& start, Random&) {
    start.output = start.errors = terminal->path;
    start.own_terminal = true;
  };
  fault.inject = [terminal](Run& run, Random&) {
    for (int round = 0; round < 20; ++round) {
      terminal->read_all();
      run.run_for(10);
    }
    terminal->close();
  };
  return {fault};
}

}  // namespace shardscope::faults
