#pragma once

#include <cstdint>
#include <optional>

namespace shardscope {

// How a process of this host ended that is another one's child, as the kernel tells it: while nobody has waited for it
// (a zombie), and from Linux 6.15 on also later. Holds one descriptor, or none where that is not to be had.
class ExitWatch {
 public:
  explicit ExitWatch(int32_t pid);
  ~ExitWatch();
  ExitWatch(ExitWatch&& other) noexcept;
  ExitWatch& operator=(ExitWatch&& other) noexcept;

  // As waitpid gives it; nothing where it has not ended, or that cannot be known.
  std::optional<int32_t> status() const;

 private:
  int32_t pid_ = 0;
  int descriptor_ = -1;
};

}  // namespace shardscope
