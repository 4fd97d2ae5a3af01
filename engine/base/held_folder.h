#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

// Which folder a descriptor is of, among those of one kernel.
struct FolderIdentity {
  uint64_t device = 0, inode = 0;
  bool operator==(const FolderIdentity&) const = default;
};

// A folder that is held open. What is done in it (openat and its like) is done in this folder, wherever it is moved to
// and whatever takes its path; nothing that is reached by a name in it follows a symbolic link. Throws Failure with the
// given code.
class HeldFolder {
 public:
  // Links in the path that the user gave are followed, this once.
  explicit HeldFolder(std::string path, std::string code = "unwritable_folder");
  HeldFolder(int descriptor, std::string path, std::string code)  // takes all
      : descriptor_(descriptor), path_(std::move(path)), code_(std::move(code)) {}
  // A folder in this one, which is no link.
  HeldFolder folder(const std::string& name) const;
  ~HeldFolder();
  HeldFolder(HeldFolder&& other) noexcept;
  HeldFolder& operator=(HeldFolder&&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }  // by which it was opened
  std::string path_of(const std::string& name) const { return path_ + (path_.ends_with('/') ? "" : "/") + name; }
  // By which calls that take a path alone reach a name in the held folder.
  std::string system_path_of(const std::string& name) const;
  FolderIdentity identity() const;

  std::vector<std::string> names() const;  // of all that is in it
  // Of a name in it, a link's own; nothing where there is none.
  std::optional<struct stat> status(const std::string& name) const;

  // Where the system says that it is now; nothing where that is not so.
  std::optional<std::string> present_path() const;
  // Its path does not lead to it any more.
  struct Displaced {
    bool exists = false;             // it was moved or replaced, not removed
    std::optional<std::string> now;  // where it is, as far as this host can say
    std::string what;                // "since the run began this folder was moved to /a/b"
  };
  std::optional<Displaced> displaced() const;

 private:
  int descriptor_ = -1;
  std::string path_, code_;
};

}  // namespace shardscope
