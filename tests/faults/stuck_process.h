#pragma once

namespace shardscope::faults {

// Makes a process get no further while it lives on. It is held as by a debugger, its main thread is sent to the place
// where the program once began, at which a loop without end is written, and is let go.
class StuckProcess {
 public:
  enum class Way { computes, sleeps };

  // Whether this machine lets us: x86-64, and the right to debug.
  static bool can_make();

  explicit StuckProcess(int pid);
  ~StuckProcess();  // lets go of it unharmed where it is still held
  StuckProcess(const StuckProcess&) = delete;
  StuckProcess& operator=(const StuckProcess&) = delete;

  bool is_held() const { return held_; }
  bool let_go(Way way);  // stuck

 private:
  int pid_;
  bool held_ = false;
};

}  // namespace shardscope::faults
