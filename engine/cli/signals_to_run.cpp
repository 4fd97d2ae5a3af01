#include "engine/cli/signals_to_run.h"

#include <atomic>

namespace shardscope {

namespace {

std::atomic<RunProcess*> current_run = nullptr;
std::atomic<int> first_signal = 0;

void interrupt_run(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  if (RunProcess* run = current_run.load()) run->interrupt();
}

void pause_run(int) {
  if (RunProcess* run = current_run.load()) run->pause();
}

void continue_run(int) {
  if (RunProcess* run = current_run.load()) run->resume();
}

auto* handler_of(int signal) {
  switch (signal) {
    case SIGPIPE: return SIG_IGN;
    case SIGTSTP: return pause_run;
    case SIGCONT: return continue_run;
    default: return interrupt_run;
  }
}

}  // namespace

SignalsToRun::SignalsToRun(RunProcess& run) {
  current_run = &run;
  for (size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    struct sigaction action {};
    action.sa_handler = handler_of(signals[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &action, nullptr);
  }
}

SignalsToRun::~SignalsToRun() {
  for (size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  current_run = nullptr;
}

int SignalsToRun::first() const { return first_signal; }

HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) ::sigaddset(&held_, signal);
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

void HeldSignals::hold() { ::pthread_sigmask(SIG_BLOCK, &held_, nullptr); }

void HeldSignals::release() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace shardscope
