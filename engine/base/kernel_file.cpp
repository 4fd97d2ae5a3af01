#include "engine/base/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace shardscope {

std::string read_kernel_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  while ((got = ::read(file, bytes.data(), bytes.size())) > 0) text.append(bytes.data(), static_cast<size_t>(got));
  ::close(file);
  return got < 0 ? std::string() : text;
}

}  // namespace shardscope
