#include "engine/config/read_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/input_file.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

constexpr int64_t max_file_bytes = int64_t{64} << 20;

// "did you mean 'x.json'?", or what the folder holds.
std::string folder_hint(const fs::path& folder, const std::string& wrong) {
  std::vector<std::string> names;
  std::error_code fault;
  for (fs::directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    if (at->path().extension() == ".json") names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  if (!near_names(wrong, names).empty()) return name_hint(wrong, names);
  if (names.empty()) return "no .json file is there";
  const bool many = names.size() > 12;
  if (many) names.resize(12);
  return fmt::format("there {} {}{}", names.size() == 1 ? "is" : "are", fmt::join(names, ", "), many ? ", ..." : "");
}

std::string missing_hint(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code fault;
  if (!fs::is_directory(folder, fault)) return "there is no folder " + folder.string() + " either";
  return folder_hint(folder, path.filename().string());
}

}  // namespace

std::string read_file(const fs::path& path) {
  const std::string name = path.string();
  std::error_code fault;
  if (fs::is_directory(path, fault)) {
    throw Failure(Error{"directory", "a folder, not a run file", in_file(name), folder_hint(path, "")});
  }
  const std::optional<InputFile> file = InputFile::find(name);
  if (!file) throw Failure(Error{"missing_file", "no such file", in_file(name), missing_hint(path)});
  if (file->bytes() > max_file_bytes) {
    throw Failure(Error{"unreadable_file", "too large for a run file", in_file(name), "at most 64 MiB"});
  }
  return file->text(max_file_bytes);
}

}  // namespace shardscope
