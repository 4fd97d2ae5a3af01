#include "engine/base/kernel_file.h"

#include <fstream>
#include <sstream>
#include <utility>

namespace shardscope {

std::string read_kernel_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace shardscope
