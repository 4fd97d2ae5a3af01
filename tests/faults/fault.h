#pragma once

#include <csignal>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/faults/phase.h"
#include "tests/faults/run.h"
#include "tests/faults/start.h"

namespace shardscope::faults {

using Random = std::mt19937_64;

inline int rank_from(int first, const Start& start, Random& random) {
  return first + static_cast<int>(random() % static_cast<uint64_t>(start.ranks - first));
}
inline int any_rank(const Start& start, Random& random) { return rank_from(0, start, random); }

// What a run must do after the fault.
struct Expected {
  std::string said;     // regular expression for standard error, %r being the victim's number; empty: nothing asked
  std::set<int> codes;  // exit codes that are right
  double seconds = 5;   // until it has said so, or has ended where it need not say anything
  double settled = 1;   // seconds after the end by which nothing is left
  bool leaves_files = false;        // until the next start: nothing but a kernel outlives the launcher
  std::string said_by_failed = "";  // as `said`, of a run that may end well, where it has not
};

// One thing that goes wrong, and what is right then. Adding one: a small file in kinds/, a line in faults.cpp.
struct Fault {
  std::string name;
  std::vector<Phase> phases;  // into which it is injected, each a trial of its own
  Expected expected;
  std::function<void(Start&, Random&)> prepare = [](Start&, Random&) {};
  // The rank that it is for, of those that it can befall.
  std::function<int(const Start&, Random&)> victim = any_rank;
  // Does it, in the phase asked for. May watch the run for a while, and throws Complaint for what it sees go wrong.
  std::function<void(Run&, Random&)> inject = [](Run&, Random&) {};
  // After the end: throws Complaint.
  std::function<void(const Run&)> check = [](const Run&) {};
  size_t kind = 0;    // faults of one kind are of one file
  std::string lacks;  // what this machine lacks for it; empty: nothing
};

struct Complaint : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The fault came too late: what it was for had gone. The trial begins again.
struct Missed {};

inline const std::vector<Phase> from_joining = {Phase::joining,      Phase::planning,  Phase::allocating,
                                                Phase::initialising, Phase::computing, Phase::exchanging,
                                                Phase::finishing};
inline const std::vector<Phase> training = {Phase::computing, Phase::exchanging};
inline const std::vector<Phase> at_start = {Phase::launching};

inline int there(std::optional<int> process) { return process ? *process : throw Missed{}; }

inline void send(int pid, int signal) {
  if (::kill(pid, signal) != 0) throw Missed{};
}

// All of them, in the order of the table.
std::vector<Fault> all_faults();

}  // namespace shardscope::faults
