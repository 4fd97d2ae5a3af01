#include "engine/config/write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/config/run_document.h"
#include "engine/config/run_file_keys.h"

namespace shardscope {
namespace {

namespace fs = std::filesystem;

// A new file beside `target`, removed unless it is moved there.
class Replacement {
 public:
  explicit Replacement(const fs::path& target) : target_(target), name_(target.string() + ".XXXXXX") {
    // Renaming would replace it: only its folder need be writable.
    if (faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT) {
      name_.clear();
      fail("replace it");
    }
    descriptor_ = mkstemp(name_.data());
    if (descriptor_ < 0) fail("create a file beside it");
    struct stat existing {};
    const bool exists = stat(target_.c_str(), &existing) == 0;
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor_, exists ? existing.st_mode & 07777 : 0666 & ~mask) != 0) fail("set its permissions");
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() { discard(); }

  void write(const std::string& text) {
    for (size_t written = 0; written < text.size();) {
      const ssize_t count = ::write(descriptor_, text.data() + written, text.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write");
      written += static_cast<size_t>(count);
    }
    if (fsync(descriptor_) != 0) fail("write");
  }

  void move_to_target() {
    const int closed = close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail("write");
    if (rename(name_.c_str(), target_.c_str()) != 0) fail("replace it");
    name_.clear();
  }

 private:
  void discard() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!name_.empty()) unlink(name_.c_str());
    descriptor_ = -1;
    name_.clear();
  }
  [[noreturn]] void fail(const char* action) {
    const std::string cause = std::strerror(errno);
    discard();
    throw Failure(Error{"unwritable_file", fmt::format("cannot {}: {}", action, cause), in_file(target_.string()),
                        "choose another name, or a folder that you may write to"});
  }

  fs::path target_;
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace

std::string write_run_config(const RunConfig& config) {
  JsonNode document = JsonNode::object();
  document.add("version", JsonNode::of(run_file::current_version));
  JsonNode values = to_run_document(config);
  for (size_t i = 0; i < values.items.size(); ++i) document.add(std::move(values.keys[i]), std::move(values.items[i]));
  return print_json(document);
}

void save_run_config(const RunConfig& config, const fs::path& path) { replace_file(path, write_run_config(config)); }

void replace_file(const fs::path& path, const std::string& text) {
  std::error_code fault;
  fs::path target = fs::is_symlink(path, fault) ? fs::weakly_canonical(path, fault) : path;
  if (fault) target = path;
  Replacement replacement(target);
  replacement.write(text);
  replacement.move_to_target();
}

}  // namespace shardscope
