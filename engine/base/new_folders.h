#pragma once

#include <string>
#include <vector>

namespace shardscope {

// The folders that are made for what is to be written into the last of them, and that go again, where they are empty,
// with this, unless they are kept.
class NewFolders {
 public:
  explicit NewFolders(const std::string& path);  // throws Failure (unwritable_file)
  ~NewFolders() { remove(); }
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  void keep(bool is_kept = true) { is_kept_ = is_kept; }

 private:
  void remove();

  std::vector<std::string> made_;  // the innermost last
  bool is_kept_ = false;
};

}  // namespace shardscope
