#include "engine/base/new_folders.h"

#include <unistd.h>

#include <filesystem>

#include "engine/base/output_file.h"
#include "engine/base/path.h"

namespace shardscope {

namespace fs = std::filesystem;

NewFolders::NewFolders(const std::string& path) {
  std::error_code fault;
  std::vector<fs::path> missing;
  for (fs::path at = without_slashes(path); !at.empty() && !fs::exists(at, fault); at = at.parent_path())
    missing.push_back(at);
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    if (fs::create_directory(*at, fault)) made_.push_back(at->string());
    if (!fault) continue;
    remove();
    fail_to_write(path, fault.value());
  }
}

void NewFolders::remove() {
  for (; !is_kept_ && !made_.empty(); made_.pop_back()) ::rmdir(made_.back().c_str());
}

}  // namespace shardscope
