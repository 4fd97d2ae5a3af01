#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/config/write.h"
#include "engine/export/kinds.h"
#include "engine/plan/device_profile.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

constexpr int poll_ms = 50;

[[noreturn]] void fail(const std::string& message, const std::string& hint = "") {
  throw Failure(Error{"picture", message, at_argument("shardscope"), hint});
}

// Text in memory that a child process finds under path().
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text = "") : file_(::memfd_create("shardscope", 0)) {
    if (file_ < 0) fail(fmt::format("no memory file: {}", std::strerror(errno)));
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(file_, text.data() + done, text.size() - done);
      if (count < 0) fail(fmt::format("no memory file: {}", std::strerror(errno)));
      done += static_cast<size_t>(count);
    }
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }
  std::string text() const {
    std::string text(static_cast<size_t>(std::max<off_t>(::lseek(file_, 0, SEEK_END), 0)), '\0');
    if (::pread(file_, text.data(), text.size(), 0) != std::ssize(text)) fail("the picture cannot be read back");
    return text;
  }

 private:
  int file_;
};

// A program whose output is read while it runs; ended with this.
class Child {
 public:
  explicit Child(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(std::strerror(errno));
    output_ = ends[0];
    std::vector<char*> arguments, environment;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string platform = "QT_QPA_PLATFORM=offscreen";
    for (char** entry = environ; *entry; ++entry)
      if (!std::string_view(*entry).starts_with("QT_QPA_PLATFORM=")) environment.push_back(*entry);
    environment.push_back(platform.data());
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int stream : {1, 2}) ::posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
    const int fault =
        ::posix_spawn(&process_, words[0].c_str(), &actions, nullptr, arguments.data(), environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (fault != 0) {
      process_ = -1;
      ::close(output_);
      fail(fmt::format("'{}' cannot be started: {}", words[0], std::strerror(fault)));
    }
  }
  ~Child() {
    ::close(output_);
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // What it says until it ends. `look` is called several times a second, and may throw.
  template <class Look>
  std::string read(const Look& look) {
    std::string said;
    std::array<char, 4096> block{};
    for (;;) {
      look();
      pollfd waiting{output_, POLLIN, 0};
      if (::poll(&waiting, 1, poll_ms) <= 0) continue;
      const ssize_t count = ::read(output_, block.data(), block.size());
      if (count <= 0) return said;
      said.append(block.data(), static_cast<size_t>(count));
    }
  }

  int wait() {
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    return status;
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

void draw(const ExportSource& source, const ExportChoice& choice, ExportTarget& target, const char* form) {
  std::error_code fault;
  const fs::path program = fs::read_symlink("/proc/self/exe", fault).parent_path() / "shardscope";
  if (!fs::exists(program, fault)) {
    fail(fmt::format("pictures are drawn by '{}', which is not there", program.string()), "build it: ./run build");
  }
  const MemoryFile run_file(write_run_config(source.plan->config)), profile(profile_text(source.plan->profile)),
      picture;
  Child child({program.string(), "--export", form, "--page", choice.page, "--out", picture.path(), "--profile",
               profile.path(), run_file.path()});
  std::string said = child.read([&] { target.throw_if_cancelled(); });
  const int status = child.wait();
  while (said.ends_with('\n')) said.pop_back();
  if (WIFSIGNALED(status)) fail(fmt::format("shardscope was ended by {}: {}", ::strsignal(WTERMSIG(status)), said));
  if (WEXITSTATUS(status) != 0)
    fail(said.empty() ? fmt::format("shardscope ended with {}", WEXITSTATUS(status)) : said);
  target.write(picture.text());
}

const std::vector<std::string> pages{"layout", "flow", "memory", "collectives", "timeline", "pipeline"};

}  // namespace

ExportKind svg_export() {
  return {"svg",
          "a picture of a page, of lines and letters (SVG)",
          "svg",
          pages,
          false,
          [](const ExportSource& source, const ExportChoice& choice, ExportTarget& target) {
            draw(source, choice, target, "svg");
          }};
}

ExportKind png_export() {
  return {"png",
          "a picture of a page, of pixels (PNG)",
          "png",
          pages,
          false,
          [](const ExportSource& source, const ExportChoice& choice, ExportTarget& target) {
            draw(source, choice, target, "png");
          }};
}

ExportKind pdf_export() {
  return {"pdf",
          "a picture of a page, to print (PDF)",
          "pdf",
          pages,
          false,
          [](const ExportSource& source, const ExportChoice& choice, ExportTarget& target) {
            draw(source, choice, target, "pdf");
          }};
}

}  // namespace shardscope
