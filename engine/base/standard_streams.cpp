#include "engine/base/standard_streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/base/printable.h"

namespace shardscope {
namespace {

int print_error = 0;
bool quiet = false;

void put(std::FILE* file, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() && file == stdout) print_error = errno;
}

}  // namespace

std::string output_name(const std::string& path) {
  const bool is_standard = path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
  return is_standard ? std::string(standard_stream) : path;
}

void set_up_process() {
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no further is an error of write()
  ::umask(::umask(S_IRWXG | S_IRWXO) & (S_IRWXG | S_IRWXO));
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", O_RDWR) < 0) return;  // open() takes the lowest number that is free
  }
}

void say(std::string_view line) noexcept {
  put(stderr, printable(line) + '\n');
  std::fflush(stderr);
}

void note(std::string_view line) noexcept {
  if (!quiet) say(line);
}

void be_quiet() noexcept { quiet = true; }

bool is_quiet() noexcept { return quiet; }

void print_lines(std::string_view text) noexcept { put(stdout, printable_lines(text)); }

bool flush_lines() noexcept {
  if (std::fflush(stdout) != 0 && print_error == 0) print_error = errno;
  errno = std::exchange(print_error, 0);
  return errno == 0;
}

}  // namespace shardscope
