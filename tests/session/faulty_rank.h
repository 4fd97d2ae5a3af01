#pragma once

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/control_group.h"
#include "engine/session/rank_registration.h"
#include "engine/session/telemetry.h"

namespace shardscope {

inline std::string environment(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? text : "";
}

// A control group that a test makes for processes of its own: for a controller of version 1 or, where the system has it
// there, of version 2; of version 2 without any where `controller` is empty. No folder where the system does not let
// us.
class TestGroup {
 public:
  explicit TestGroup(const std::string& controller) {
    const ControlGroup own = controller.empty() ? unified_control_group("self") : control_group("self", controller);
    if (own.folders.empty()) return;
    const std::string folder = own.folders[0] + "/shardscope-test-" + std::to_string(::getpid());
    if (::mkdir(folder.c_str(), 0755) != 0) return;
    const std::string file = controller == "memory"    ? memory_limit(own.unified)
                             : controller == "freezer" ? "/freezer.state"
                                                       : "";
    const bool is_of_use =
        ::access((folder + "/cgroup.procs").c_str(), W_OK) == 0 && ::access((folder + file).c_str(), W_OK) == 0;
    if (is_of_use) folder_ = folder;
    else ::rmdir(folder.c_str());
    unified_ = own.unified;
  }
  ~TestGroup() {
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }
  TestGroup(const TestGroup&) = delete;
  TestGroup& operator=(const TestGroup&) = delete;

  const std::string& folder() const { return folder_; }
  void limit_memory(int64_t bytes) const {
    if (unified_) std::ofstream(folder_ + "/memory.swap.max") << 0;
    std::ofstream(folder_ + memory_limit(unified_)) << bytes;
  }

 private:
  static std::string memory_limit(bool unified) { return unified ? "/memory.max" : "/memory.limit_in_bytes"; }

  std::string folder_;
  bool unified_ = false;
};

// Goes through all phases of a rank, three steps of training with three plan steps each. In phase FAULT_PHASE (when
// training: step 2, plan step 1) the last rank does what FAULT says.
class FaultyRank {
 public:
  static constexpr uint64_t plan_hash = 0xfa017;

  static int main(const std::string& session) {
    FaultyRank rank(session);
    return rank.run();
  }

 private:
  explicit FaultyRank(std::string session)
      : session_(std::move(session)),
        rank_(std::atoi(environment("OMPI_COMM_WORLD_RANK").c_str())),
        ranks_(std::atoi(environment("OMPI_COMM_WORLD_SIZE").c_str())) {}

  int run() {
    reach(RankPhase::launching);
    registration_.emplace(session_, rank_);
    reach(RankPhase::starting);
    for (RankPhase phase : {RankPhase::connecting, RankPhase::planning, RankPhase::agreeing, RankPhase::allocating}) {
      enter(phase);
    }
    telemetry_.emplace(session_, rank_, ranks_);
    telemetry_->set_plan(plan_hash, 3);
    enter(RankPhase::initialising);
    telemetry_->set_state(RankState::running);
    registration_->enter(RankPhase::training);
    for (int64_t step = 0; step < 3; ++step) {
      telemetry_->begin_training_step(step);
      for (int plan_step = 0; plan_step < 3; ++plan_step) {
        telemetry_->begin_plan_step(plan_step);
        if (step == 2 && plan_step == 1) reach(RankPhase::training);
      }
      RankMeasurement measured;
      measured.rank = rank_;
      telemetry_->add_step({step, 1.0, measured, {}});
      if (step == 1) std::ofstream(two_steps_of(rank_)) << "done";
    }
    enter(RankPhase::saving);
    enter(RankPhase::finishing);
    telemetry_->set_state(RankState::finished);
    return 0;
  }

  void enter(RankPhase phase) {
    registration_->enter(phase);
    reach(phase);
  }

  void reach(RankPhase phase) {
    if (rank_ != ranks_ - 1 || environment("FAULT_PHASE") != name(phase)) return;
    const std::string fault = environment("FAULT");
    if (fault == "stop") ::raise(SIGSTOP);
    if (fault == "sleep") ::pause();
    if (fault == "kill") ::raise(SIGKILL);
    if (fault == "kill once" && is_first()) {
      await_two_steps_of_all();
      ::raise(SIGKILL);
    }
    if (fault == "stop once" && is_first()) {
      await_two_steps_of_all();
      ::raise(SIGSTOP);
    }
    if (fault == "exit") ::_exit(3);
    if (fault == "error") fail();
    if (fault == "debugger") be_debugged();
    if (fault == "memory") use_memory();
    if (fault == "frozen 1") freeze("/freezer.state", "FROZEN");
    if (fault == "frozen 2") freeze("/cgroup.freeze", "1");
    if (fault == "leave a child") leave_a_child(false);
    if (fault == "leave a child without environment") leave_a_child(true);
  }

  std::string two_steps_of(int rank) const { return session_ + "/two_steps_of_" + std::to_string(rank); }

  // Nothing else holds ranks together here: a slow one may be in its first step when another is in its third.
  void await_two_steps_of_all() const {
    for (int rank = 0; rank < ranks_; ++rank)
      while (!std::filesystem::exists(two_steps_of(rank))) ::usleep(1000);
  }

  bool is_first() const {
    const std::string mark = session_ + "/was_here";
    if (std::filesystem::exists(mark)) return false;
    std::ofstream(mark) << "yes";
    return true;
  }

  [[noreturn]] void fail() {
    const std::runtime_error error("the disk: cannot write: No space left on device");
    if (telemetry_) telemetry_->fail(error.what());
    if (registration_) registration_->fail(error);
    ::_exit(1);
  }

  static void be_debugged() {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const int patient = ::getpid();
    if (::fork() == 0) {
      if (::ptrace(PTRACE_ATTACH, patient, nullptr, nullptr) == 0) {
        ::waitpid(patient, nullptr, 0);
        ::usleep(1'500'000);
        ::ptrace(PTRACE_DETACH, patient, nullptr, nullptr);
      }
      ::_exit(0);
    }
    ::wait(nullptr);
  }

  static void join(const std::string& group) { std::ofstream(group + "/cgroup.procs") << ::getpid(); }

  static void use_memory() {
    join(environment("FAULT_GROUP"));
    std::vector<char> hoard(size_t{256} << 20, 1);
    ::pause();
  }

  // A child does it, since the rank can do nothing more once it is frozen, and the child is not.
  static void freeze(const std::string& file, const std::string& word) {
    const std::string group = environment("FAULT_GROUP");
    join(group);
    std::ofstream(group + file) << word;
    ::pause();
  }

  void leave_a_child(bool without_environment) const {
    if (::fork() != 0) return;
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    if (without_environment) ::clearenv();
    ::execlp("sh", "sh", "-c", ("sleep 1000; : " + session_).c_str(), nullptr);
  }

  std::string session_;
  int rank_, ranks_;
  std::optional<RankRegistration> registration_;
  std::optional<TelemetryWriter> telemetry_;
};

// In mpirun's place: starts ranks "PROGRAM rank SESSION", and says, as mpirun does, which one ended badly. Or does what
// FAULT_OF_LAUNCHER says: as the ranks end, or after that.
inline int launch(const std::string& program, const std::string& session, int ranks) {
  std::vector<int> pids;
  const std::string fault = environment("FAULT_OF_LAUNCHER");
  if (fault == "leaves ranks alone") ::signal(SIGTERM, SIG_IGN);  // these, too, as they inherit it
  ::setenv("OMPI_COMM_WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  for (int rank = 0; rank < ranks; ++rank) {
    ::setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
    pids.push_back(::fork());
    if (pids.back() == 0) {
      ::execl(program.c_str(), program.c_str(), "rank", session.c_str(), nullptr);
      ::_exit(127);
    }
  }
  if (fault == "waits for nobody") ::pause();
  for (int left = ranks; left > 0;) {
    int status = 0;
    const int pid = ::wait(&status);
    const auto found = std::find(pids.begin(), pids.end(), pid);
    if (found == pids.end()) continue;
    --left;
    if (status == 0) continue;
    if (fault == "says nothing") ::pause();
    const auto rank = static_cast<int>(found - pids.begin());
    if (WIFSIGNALED(status)) {
      std::printf("mpirun noticed that process rank %d with PID %d on node x exited on signal %d (x).\n", rank, pid,
                  WTERMSIG(status));
    } else {
      std::printf("  Process name: [[1,1],%d]\n  Exit code:    %d\n", rank, WEXITSTATUS(status));
    }
    std::fflush(stdout);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  if (fault == "hangs") ::pause();
  if (fault == "is killed") ::raise(SIGKILL);
  return fault == "fails" ? 1 : 0;
}

}  // namespace shardscope
