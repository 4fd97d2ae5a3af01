#include "engine/config/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "engine/config/run_document.h"

namespace shardscope {
namespace {

namespace fs = std::filesystem;
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

}  // namespace

RunConfig parse_run_config(std::string_view text, const std::string& file_name) {
  const JsonNode document = read_json(text, file_name);
  std::vector<Error> errors;
  RunConfig config = read_run_document(document, file_name, errors);
  if (!errors.empty()) throw Failure(std::move(errors));
  return config;
}

RunConfig load_run_config(const fs::path& path) { return parse_run_config(read_file(path), path.string()); }

ReadRunFile read_run_file(const fs::path& path) {
  ReadRunFile result;
  result.text = read_file(path);
  result.config = read_run_document(read_json(result.text, path.string()), path.string(), result.errors);
  return result;
}

std::vector<Error> locate_errors(std::vector<Error> errors, std::string_view text, const std::string& file_name) {
  const JsonNode document = read_json(text, file_name);
  for (Error& error : errors) {
    const std::string path = error.place.path;
    if (!path.empty() && error.place == Place(path)) error.place = in_file(file_name, line_of(document, path), 0, path);
  }
  return errors;
}

}  // namespace shardscope
