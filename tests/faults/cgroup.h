#pragma once

#include <cstdint>
#include <string>

namespace shardscope::faults {

// A control group made for one trial, in version 1 or 2 of the kernel's groups, removed when it goes.
class Cgroup {
 public:
  enum class Kind { freezer_1, freezer_2, memory };

  // Whether one can be made here.
  static bool can_make(Kind kind);

  explicit Cgroup(Kind kind);
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  const std::string& path() const { return path_; }
  bool add(int pid) const;
  bool set_frozen(bool frozen) const;      // of a freezer
  bool limit_memory(int64_t bytes) const;  // of a memory group

 private:
  bool write(const std::string& file, const std::string& text) const;

  Kind kind_;
  std::string path_;
};

}  // namespace shardscope::faults
