#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

// Which folder a descriptor is of, among those of one kernel.
struct FolderIdentity {
  uint64_t device = 0, inode = 0;
  bool operator==(const FolderIdentity&) const = default;
};

// A folder that is held open. What is done in it (openat and its like) is done in this folder, wherever it is moved to
// and whatever takes its path; nothing that is reached by a name in it follows a symbolic link. Throws Failure
// unwritable_checkpoint.
class HeldFolder {
 public:
  // Links in the path that the user gave are followed, this once.
  explicit HeldFolder(std::string path);
  HeldFolder(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}  // takes both
  ~HeldFolder();
  HeldFolder(HeldFolder&& other) noexcept;
  HeldFolder& operator=(HeldFolder&&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }  // by which it was opened
  std::string path_of(const std::string& name) const { return path_ + (path_.ends_with('/') ? "" : "/") + name; }
  FolderIdentity identity() const;

  std::vector<std::string> names() const;  // of all that is in it
  // Of a name in it, a link's own; nothing where there is none.
  std::optional<struct stat> status(const std::string& name) const;

  // Throws Failure checkpoint_folder_moved where its path does not lead to it any more, with that path and where the
  // folder is now: it was moved, replaced or removed.
  void require_in_place() const;

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace shardscope
