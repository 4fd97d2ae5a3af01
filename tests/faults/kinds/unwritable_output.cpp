#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

Fault unwritable(const std::string& name, const Expected& expected, const std::function<void(Start&)>& prepare) {
  Fault fault;
  fault.name = name;
  fault.phases = at_start;
  fault.expected = expected;
  fault.prepare = [prepare](Start& start, Random&) {
    ask_for_all_steps(start, Start::endless);
    prepare(start);
  };
  fault.check = check_whole_lines;
  return fault;
}

// Nobody wants to read it: as /dev/null.
Fault closed(const std::string& name, bool errors) {
  Fault fault;
  fault.name = "closed standard output" + name;
  fault.phases = at_start;
  fault.expected = {"", {0}, 30};
  fault.prepare = [errors](Start& start, Random&) {
    ask_for_all_steps(start, 20);
    start.close_output = true;
    start.close_errors = errors;
  };
  fault.check = check_all_steps;
  return fault;
}

}  // namespace

std::vector<Fault> unwritable_output() {
  const auto pipe_to_head = [](Start& start) {
    start.before = {"bash", "-c", "\"$@\" | head -n 1; exit ${PIPESTATUS[0]}", "sh"};
  };
  return {
      unwritable("standard output on a full disk", {"standard output.*no space left", {1}, 30},
                 [](Start& start) { start.output = "/dev/full"; }),
      unwritable("standard output and error on a full disk", {"", {1}, 30},
                 [](Start& start) { start.output = start.errors = "/dev/full"; }),
      closed("", false),
      closed(" and error", true),
      unwritable("| head -n 1", {"", {141}, 30}, pipe_to_head),
  };
}

}  // namespace shardscope::faults
