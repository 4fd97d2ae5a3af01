#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

namespace {

// A pipe that nobody reads.
struct Pipe {
  int descriptor = -1;
  explicit Pipe(const std::string& path) {
    ::mkfifo(path.c_str(), 0600);
    descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ::fcntl(descriptor, F_SETPIPE_SZ, 4096);
  }
  ~Pipe() { ::close(descriptor); }
  Pipe(const Pipe&) = delete;
};

Fault unread(const std::string& name, bool output, bool errors) {
  Fault fault;
  fault.name = "nobody reads " + name + ", and a rank is killed";
  fault.phases = training;
  fault.expected = {errors ? "" : "rank %r was killed by SIGKILL", {1}};
  const auto pipe = std::make_shared<std::optional<Pipe>>();
  fault.prepare = [=](Start& start, Random&) {
    const std::string path = start.folder + "/pipe";
    pipe->emplace(path);
    if (output) start.output = path;
    if (errors) start.errors = path;
  };
  fault.inject = [](Run& run, Random&) {
    run.run_for(1000);
    send(there(run.rank()), SIGKILL);
  };
  return fault;
}

}  // namespace

std::vector<Fault> unread_output() {
  return {unread("standard output", true, false), unread("standard error", false, true),
          unread("either of them", true, true)};
}

}  // namespace shardscope::faults
