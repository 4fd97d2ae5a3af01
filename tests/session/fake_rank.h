#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/session/control.h"
#include "engine/session/processes.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// Stands in for a rank that trains: three plan steps (forward, backward, update) a training step, and in step 2 the
// last rank does what FAKE_MODE says. Under mpirun and alone.
class FakeRank {
 public:
  static constexpr uint64_t plan_hash = 0x5ca1ab1e;
  static constexpr int64_t parameter_bytes = 1000, optimizer_bytes = 2000;

  static int main(const std::string& session_directory) {
    die_with_parent();
    return FakeRank(session_directory).train();
  }

 private:
  explicit FakeRank(const std::string& session_directory)
      : rank_(number("OMPI_COMM_WORLD_RANK", 0)),
        ranks_(number("OMPI_COMM_WORLD_SIZE", 1)),
        steps_(number("FAKE_STEPS", 5)),
        control_(Control::open(session_directory)),
        telemetry_(session_directory, rank_, ranks_) {
    const char* mode = std::getenv("FAKE_MODE");
    if (mode && rank_ == ranks_ - 1) mode_ = mode;
  }

  static int number(const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::atoi(text) : otherwise;
  }

  int train() {
    std::printf("rank %d of %d\n", rank_, ranks_);
    std::fflush(stdout);
    telemetry_.set_plan_hash(mode_ == "foreign" ? plan_hash + 1 : plan_hash);
    telemetry_.set_state(RankState::running);
    for (int64_t step = 0; step < steps_ && (mode_ == "deaf" || !control_.stop_requested()); ++step) {
      telemetry_.begin_training_step(step);
      for (int plan_step = 0; plan_step < 3; ++plan_step) {
        telemetry_.begin_plan_step(plan_step);
        if (step == 2 && plan_step == 1) misbehave();
        telemetry_.add_event({plan_step, step, 1'000'000, 3'000'000, 3'000'000 + (rank_ + 1) * 1'000'000, 0});
      }
      telemetry_.add_step({step,
                           10.0 + rank_,
                           {100 + rank_, 200 + rank_, 300.0 + rank_, parameter_bytes + rank_, optimizer_bytes + rank_},
                           {8.0 - static_cast<double>(step), 0.5}});
      ::usleep(1000);
    }
    telemetry_.set_state(RankState::finished);
    while (mode_ == "hang") ::pause();
    return 0;
  }

  void misbehave() {
    if (mode_ == "kill") ::raise(SIGKILL);
    if (mode_ == "abort") ::raise(SIGABRT);
    if (mode_ == "stop") ::raise(SIGSTOP);
    if (mode_ == "exit") ::_exit(3);
    if (mode_ == "fail") {
      telemetry_.fail("the loss is not a number");
      ::_exit(1);
    }
  }

  int rank_, ranks_;
  int64_t steps_;
  std::string mode_;
  Control control_;
  TelemetryWriter telemetry_;
};

}  // namespace shardscope
