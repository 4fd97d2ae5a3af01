#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

namespace {

const std::string mute = "mpirun has started no rank within 3 s";

Fault in_its_place(const std::string& name, const std::string& script, const std::string& said) {
  Fault fault;
  fault.name = "mpirun " + name;
  fault.phases = at_start;
  fault.expected = {said, {1}};
  fault.prepare = [script, is_mute = said == mute](Start& start, Random&) {
    const std::filesystem::path program = start.folder + "/bin/mpirun";
    std::filesystem::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    if (is_mute) start.arguments = {"--deadline", "launching=3"};
    start.environment["PATH"] = program.parent_path().string() + ":" + std::getenv("PATH");
  };
  return fault;
}

}  // namespace

std::vector<Fault> fake_mpirun() {
  Fault missing = in_its_place("that is missing", "", "cannot start 'mpirun'");
  missing.prepare = [](Start& start, Random&) { start.environment["PATH"] = start.folder; };
  return {
      in_its_place("that sleeps", "exec sleep 1000", mute),
      in_its_place("that sleeps and heeds no signal", "trap '' TERM INT HUP; while :; do sleep 1000; done", mute),
      in_its_place("that exits at once", "exit 0", "mpirun ended with exit code 0 "),
      in_its_place("that exits with an error", "echo no such thing >&2; exit 213", "mpirun ended with exit code 213 "),
      in_its_place("that writes nonsense and ends", "head -c 3000000 /dev/urandom; exit 3",
                   "mpirun ended with exit code 3 "),
      in_its_place("that writes nonsense for ever", "exec cat /dev/urandom", mute),
      in_its_place("that is no program", "\1\2\3", "mpirun ended with exit code 127 "),
      missing};
}

}  // namespace shardscope::faults
