#include "tests/faults/stuck_process.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <string_view>

namespace shardscope::faults {

using namespace std::string_view_literals;

namespace {

// Of x86-64, in two words of 8 bytes.
constexpr size_t code_bytes = 16;
constexpr std::string_view loop = "\xeb\xfe"sv;                              // here: jmp here
constexpr std::string_view long_pause = "\xb8\x22\0\0\0\x0f\x05\xeb\xf7"sv;  // here: pause(); jmp here

uint64_t entry_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/auxv", pid), std::ios::binary);
  for (Elf64_auxv_t one{}; file.read(reinterpret_cast<char*>(&one), sizeof one);) {
    if (one.a_type == AT_ENTRY) return one.a_un.a_val;
  }
  return 0;
}

}  // namespace

StuckProcess::StuckProcess(int pid) : pid_(pid) {
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return;
  ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
  held_ = ::waitpid(pid, nullptr, __WALL) == pid;
}

StuckProcess::~StuckProcess() {
  if (held_) ::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
}

#if defined(__x86_64__)

bool StuckProcess::can_make() {
  const int child = ::fork();
  for (; child == 0;) ::pause();
  bool can;
  {
    StuckProcess process(child);
    can = process.is_held();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return can;
}

// Without a number of a system call, the kernel takes up none again that it interrupted.
bool StuckProcess::let_go(Way way) {
  std::string code(way == Way::computes ? loop : long_pause);
  code.resize(code_bytes, '\x90');
  const uint64_t entry = entry_of(pid_);
  user_regs_struct registers{};
  bool done = held_ && entry != 0 && ::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) == 0;
  for (size_t at = 0; at < code_bytes; at += sizeof(long)) {
    long word = 0;
    code.copy(reinterpret_cast<char*>(&word), sizeof word, at);
    done = done && ::ptrace(PTRACE_POKETEXT, pid_, entry + at, word) == 0;
  }
  registers.rip = entry;
  registers.orig_rax = ~0ull;
  done = done && ::ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0;
  ::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
  held_ = false;
  return done;
}

#else

bool StuckProcess::can_make() { return false; }
bool StuckProcess::let_go(Way) { return false; }

#endif

}  // namespace shardscope::faults
