#include "engine/config/read_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

constexpr size_t max_file_bytes = size_t{64} << 20;

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
  return fmt::format("there are {}{}", fmt::join(names, ", "), many ? ", ..." : "");
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
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"), &std::fclose);
  if (!file && (errno == ENOENT || errno == ENOTDIR)) {
    throw Failure(Error{"missing_file", "no such file", in_file(name), missing_hint(path)});
  }
  std::string text;
  char block[1 << 14];
  size_t read = 0;
  while (file && text.size() <= max_file_bytes && (read = std::fread(block, 1, sizeof block, file.get())) > 0) {
    text.append(block, read);
  }
  if (!file || std::ferror(file.get())) {
    throw Failure(Error{"unreadable_file", fmt::format("cannot read: {}", std::strerror(errno)), in_file(name),
                        "check its permissions"});
  }
  if (text.size() > max_file_bytes) {
    throw Failure(Error{"unreadable_file", "too large for a run file", in_file(name), "at most 64 MiB"});
  }
  return text;
}

}  // namespace shardscope
