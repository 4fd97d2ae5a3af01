#pragma once

#include <array>
#include <csignal>

#include "engine/session/run_process.h"

namespace shardscope {

// While it lives, Ctrl-C, SIGTERM and SIGHUP end the run in order, each unless it was ignored before (nohup), Ctrl-Z
// stops its ranks, too, until SIGCONT, and a closed pipe is an error of write(). One at a time.
class SignalsToRun {
 public:
  explicit SignalsToRun(RunProcess& run);
  ~SignalsToRun();  // as they were before
  SignalsToRun(const SignalsToRun&) = delete;
  SignalsToRun& operator=(const SignalsToRun&) = delete;

  int first() const;  // that was to end the run; 0: none has come

 private:
  static constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGPIPE};
  std::array<struct sigaction, signals.size()> before_;
};

// Holds those of them that a person sends back, from when there is something that they would leave behind until they
// end it in order: until release(), but for the life of a Released.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  void release();

  class Released {
   public:
    explicit Released(HeldSignals& held) : held_(held) { held_.release(); }
    ~Released() { held_.hold(); }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    HeldSignals& held_;
  };

 private:
  void hold();

  sigset_t held_, before_;
};

}  // namespace shardscope
