#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/export/kinds.h"
#include "engine/machine/machine_file.h"
#include "engine/session/child_process.h"

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

// What shardscope says of how far it is, a line each among others; takes it out of what it said.
double take_share(std::string& said) {
  double share = 0;
  for (const auto& [line, done] : {std::pair("planned\n", 0.5), std::pair("painted\n", 0.9)}) {
    const size_t at = said.find(line);
    if (at == std::string::npos || (at > 0 && said[at - 1] != '\n')) continue;
    said.erase(at, std::strlen(line));
    share = done;
  }
  return share;
}

// What the program says until it ends, and as what it ended (waitpid). Throws Cancelled, and ends it, as the target
// does.
std::pair<std::string, int> run(const std::vector<std::string>& words, ExportTarget& target) {
  double share = 0;
  ChildProcess child(words, {{"QT_QPA_PLATFORM", "offscreen"}});
  std::string said;
  std::array<char, 4096> block{};
  for (bool is_open = true; is_open;) {
    target.progress(share);
    pollfd waiting{child.output(), POLLIN, 0};
    if (::poll(&waiting, 1, poll_ms) <= 0) continue;
    const ssize_t count = ::read(child.output(), block.data(), block.size());
    if (count > 0) said.append(block.data(), static_cast<size_t>(count));
    share = std::max(share, take_share(said));
    is_open = count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
  }
  for (;; ::poll(nullptr, 0, 1)) {
    target.throw_if_cancelled();
    if (const std::optional<int> status = child.wait_status()) return {std::move(said), *status};
  }
}

void draw(const ExportSource& source, const ExportChoice& choice, ExportTarget& target, const char* form) {
  std::error_code fault;
  const fs::path program = fs::read_symlink("/proc/self/exe", fault).parent_path() / "shardscope";
  if (!fs::exists(program, fault)) {
    fail(fmt::format("pictures are drawn by '{}', which is not there", program.string()), "build it: ./run build");
  }
  if (choice.page == "run") run_of(source, "a picture of its curves");
  if (choice.page == "search") {
    throw Failure(Error{"no_search", "a plan has no search of its own", at_argument("--page search"),
                        "'shardrun search FILE' prints one; the window exports the one on its page Search"});
  }
  const MemoryFile run_file(source.plan->run_file), machine(machine_text(source.plan->machine)), picture;
  std::vector<std::string> words = {program.string(), "--export",     form,        "--page",      choice.page,
                                    "--out",          picture.path(), "--machine", machine.path()};
  if (!source.record.empty()) words.insert(words.end(), {"--record", source.record});
  if (choice.trace) words.insert(words.end(), {"--trace", std::string(name(*choice.trace))});
  if (choice.size) words.insert(words.end(), {"--size", fmt::format("{}x{}", choice.size->width, choice.size->height)});
  words.push_back(run_file.path());
  auto [said, status] = run(words, target);
  while (said.ends_with('\n')) said.pop_back();
  if (WIFSIGNALED(status)) fail(fmt::format("shardscope was ended by {}: {}", ::strsignal(WTERMSIG(status)), said));
  if (WEXITSTATUS(status) != 0)
    fail(said.empty() ? fmt::format("shardscope ended with {}", WEXITSTATUS(status)) : said);
  target.write(picture.text());
}

ExportKind picture(const char* form, const char* what) {
  const auto write = [form](const ExportSource& source, const ExportChoice& choice, ExportTarget& target) {
    draw(source, choice, target, form);
  };
  ExportKind kind{
      form,  what,
      form,  {"layout", "flow", "memory", "collectives", "timeline", "pipeline", "compare", "machine", "search", "run"},
      false, write};
  kind.step_pages = {"collectives", "timeline"};
  kind.is_picture = true;
  kind.window_pages = {"search"};
  return kind;
}

}  // namespace

ExportKind svg_export() { return picture("svg", "a picture of a page, of lines and letters (SVG)"); }
ExportKind png_export() { return picture("png", "a picture of a page, of pixels (PNG)"); }
ExportKind pdf_export() { return picture("pdf", "a picture of a page, to print (PDF)"); }

}  // namespace shardscope
