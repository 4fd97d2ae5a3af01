#include "tests/faults/trial.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <regex>

#include "engine/cli/run_file_arguments.h"
#include "engine/compile/compile.h"
#include "engine/machine/host_machine.h"

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

constexpr int64_t hang_ms = 30'000;  // after that a run hangs
constexpr int attempts = 20;

struct Folder {
  std::string path = "/var/tmp/sf-XXXXXX";
  Folder() {
    if (!::mkdtemp(path.data())) throw std::runtime_error("cannot make " + path);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
};

std::vector<bool> exchanges_of(const Start& start) {
  const std::vector<std::string> words = start.run_file_arguments();
  RunFileArguments arguments;
  arguments.file = words[0];
  for (size_t i = 2; i < words.size(); i += 2) arguments.assignments.push_back(words[i]);
  const Plan plan = compile({arguments.load(), host_machine()});
  std::vector<bool> exchanges;
  for (const Instruction& instruction : plan.instructions()) {
    exchanges.push_back(is_communication(instruction.kind()) && !is_collective(instruction.kind()));
  }
  return exchanges;
}

std::string with_victim(std::string pattern, int victim) {
  for (size_t at; (at = pattern.find("%r")) != std::string::npos;) pattern.replace(at, 2, std::to_string(victim));
  return pattern;
}

double seconds_between(int64_t from_ns, int64_t to_ns) { return static_cast<double>(to_ns - from_ns) / 1e9; }

// Lets the run reach the phase, and then some random time within it.
bool wait_for_phase(Run& run, Phase phase, Random& random) {
  if (!run.reach(phase)) return false;
  if (phase == Phase::joining || phase == Phase::starting) run.run_for(static_cast<int64_t>(random() % 150));
  if (phase == Phase::computing || phase == Phase::exchanging) {
    run.run_for(static_cast<int64_t>(random() % 300));
    if (!run.reach(phase)) return false;
  }
  return !run.ended();
}

void judge(Trial& trial, Run& run, const Fault& fault, int64_t fault_ns) {
  const Expected& expected = fault.expected;
  trial.code = run.code();
  trial.errors = run.errors();
  trial.ended_after = seconds_between(fault_ns, run.ended_ns());
  // One that comes when all is done may do no harm.
  const bool harmless = trial.hit == Phase::finishing && trial.code == 0;
  const std::string& wanted = expected.said.empty() && run.code() != 0 ? expected.said_by_failed : expected.said;
  const std::string words = with_victim(wanted, run.victim());
  trial.has_culprit = !words.empty() && !harmless;
  if (!trial.has_culprit) {
    trial.named_after = trial.ended_after;
  } else if (const auto said = run.first_said(words)) {
    trial.named = true;
    trial.named_after = std::max(0.0, seconds_between(fault_ns, *said));
  } else {
    trial.complaints.push_back("did not say /" + words + "/");
  }
  if (!expected.codes.contains(trial.code) && !harmless) {
    trial.complaints.push_back(fmt::format("ended with code {}", trial.code));
  }
  trial.late = trial.named_after && *trial.named_after > expected.seconds;
  try {
    fault.check(run);
  } catch (const Complaint& complaint) {
    trial.complaints.push_back(complaint.what());
  }
}

void count_leftovers(Trial& trial, Run& run, const Expected& expected) {
  std::vector<ProcessId> processes;
  const int64_t deadline = monotonic_ns() + static_cast<int64_t>(expected.settled * 1e9);
  do {
    processes = run.alive();
    if (!processes.empty()) ::usleep(20'000);
  } while (!processes.empty() && monotonic_ns() < deadline);
  for (const ProcessId& process : processes) trial.left.push_back(to_text(process));
  if (expected.leaves_files) run.start_next();
  for (const std::string& file : run.files_left()) trial.left.push_back(file);
}

Trial try_once(const TrialRequest& request, const std::string& program) {
  const Fault fault = all_faults().at(request.fault);
  Random random(request.seed);
  Trial trial;
  trial.fault = fault.name;
  trial.aimed = request.phase;
  const Folder folder;
  Start start;
  start.program = program;
  start.folder = folder.path;
  start.ranks = random() % 4 == 0 ? 4 : 2;
  if (request.phase == Phase::initialising || request.phase == Phase::allocating) {
    start.settings = {"model.dmid=400000", "optimizer.learning_rate=1e-12"};
  }
  if (request.phase == Phase::finishing) start.steps = 100;
  try {
    fault.prepare(start, random);
  } catch (const Complaint& complaint) {
    trial.complaints.push_back(complaint.what());
    return trial;
  }
  const std::vector<bool> exchanges = exchanges_of(start);
  const int victim = fault.victim(start, random);
  int64_t fault_ns = monotonic_ns();
  Run run(start, victim, exchanges);
  try {
    if (request.phase != Phase::launching) {
      if (!wait_for_phase(run, request.phase, random)) throw Missed{};
      fault_ns = monotonic_ns();
    }
    trial.hit = run.phase();
    fault.inject(run, random);
  } catch (const Missed&) {
    trial.missed = true;
    return trial;
  } catch (const Complaint& complaint) {
    trial.complaints.push_back(complaint.what());
  }
  run.run_for(hang_ms);
  if (run.ended()) {
    judge(trial, run, fault, run.fault_ns() ? run.fault_ns() : fault_ns);
    count_leftovers(trial, run, fault.expected);
  } else {
    trial.errors = run.errors();
    trial.has_culprit = !fault.expected.said.empty();
    trial.complaints.push_back("hangs");
  }
  return trial;
}

}  // namespace

Trial run_trial(const TrialRequest& request, const std::string& program) {
  Trial trial;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    trial = try_once({request.fault, request.phase, request.seed + 1'000'003 * attempt}, program);
    if (!trial.missed) break;
  }
  return trial;
}

}  // namespace shardscope::faults
