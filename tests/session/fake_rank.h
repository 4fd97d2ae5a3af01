#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "engine/session/control.h"
#include "engine/session/processes.h"
#include "engine/session/status_page.h"
#include "engine/session/telemetry.h"

namespace shardscope {

// Stands in for a rank that trains: three plan steps (forward, backward, update) a training step of FAKE_US
// microseconds, and in step 2 the last rank does what FAKE_MODE says. Under mpirun and alone.
class FakeRank {
 public:
  static constexpr uint64_t plan_hash = 0x5ca1ab1e;
  static constexpr int64_t parameter_bytes = 1000, optimizer_bytes = 2000;

  static RankMeasurement measured(int rank) {
    const PhaseMs busy{1.0 + rank, 1.0 + rank, 1.0 + rank}, cpu{0.5, 0.5, 0.5}, wait{2, 2, 2};
    return {rank, 100 + rank, 200 + rank, 250, 300.0 + rank, 600 + rank, parameter_bytes + rank, optimizer_bytes + rank,
            busy, cpu,        wait};
  }
  static PlanStepTime time_of(int rank, int plan_step) {
    const int64_t begin = 1'000'000 + plan_step * 10'000'000;
    return {begin, begin + 2'000'000, begin + 2'000'000 + (rank + 1) * 1'000'000};
  }

  static int main(const std::string& session_directory) {
    die_with_parent();
    return FakeRank(session_directory).train();
  }

 private:
  explicit FakeRank(const std::string& session_directory)
      : rank_(number("OMPI_COMM_WORLD_RANK", 0)),
        ranks_(number("OMPI_COMM_WORLD_SIZE", 1)),
        steps_(number("FAKE_STEPS", 5)),
        pause_us_(number("FAKE_US", 1000)),
        control_(Control::open(session_directory)),
        telemetry_(session_directory, rank_, ranks_),
        page_(StatusPage::open(session_directory)) {
    page_->sign(rank_, this_process());
    page_->enter(rank_, RankPhase::training);
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
    telemetry_.set_plan(mode_ == "foreign" ? plan_hash + 1 : plan_hash, 3);
    telemetry_.set_state(RankState::running);
    for (int64_t step = 0; step < steps_ && (mode_ == "deaf" || !control_.stop_requested()); ++step) {
      wait_at_gate(step);
      telemetry_.begin_training_step(step);
      for (int plan_step = 0; plan_step < 3; ++plan_step) {
        telemetry_.begin_plan_step(plan_step);
        if (step == 2 && plan_step == 1) misbehave();
        telemetry_.end_plan_step(plan_step, time_of(rank_, plan_step));
      }
      telemetry_.add_step({step, 10.0 + rank_, measured(rank_), {8.0 - static_cast<double>(step), 0.5}});
      telemetry_.keep_trace(TraceChoice::latest);
      telemetry_.keep_trace(TraceChoice::slowest);
      if (pause_us_ > 0) ::usleep(static_cast<useconds_t>(pause_us_));
    }
    if (mode_ == "slow" && control_.stop_requested()) finish_slowly();
    if (mode_ == "saving") save();
    if (mode_ == "writing") write_checkpoint();
    telemetry_.set_state(RankState::finished);
    while (mode_ == "hang") ::pause();
    return 0;
  }

  // At step FAKE_GATE until the files $FAKE_KEYS.0 to .1 are there.
  static void wait_at_gate(int64_t step) {
    if (step != number("FAKE_GATE", -1)) return;
    const std::string keys = std::getenv("FAKE_KEYS");
    for (const char* key : {".0", ".1"}) {
      while (::access((keys + key).c_str(), F_OK) != 0) ::usleep(1000);
    }
  }

  // Without a sign of life for half a second in which it runs.
  static void finish_slowly() {
    for (int i = 0; i < 50; ++i) ::usleep(10000);
    std::printf("finished slowly\n");
    std::fflush(stdout);
  }

  // For three seconds.
  void save() {
    for (int i = 0; i < 200; ++i) {
      telemetry_.beat();
      ::usleep(15000);
    }
    std::printf("saved\n");
    std::fflush(stdout);
  }

  // The same without a sign of life.
  void write_checkpoint() {
    page_->enter(rank_, RankPhase::saving);
    for (int i = 0; i < 200; ++i) ::usleep(15000);
    page_->enter(rank_, RankPhase::finishing);
    std::printf("saved\n");
    std::fflush(stdout);
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
  int pause_us_;
  std::string mode_;
  Control control_;
  TelemetryWriter telemetry_;
  std::optional<StatusPage> page_;
};

}  // namespace shardscope
