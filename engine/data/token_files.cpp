#include "engine/data/token_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/data/data_files.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

template <class Number>
void widen(const std::byte* from, std::span<int64_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    Number number;
    std::memcpy(&number, from + i * sizeof number, sizeof number);
    out[i] = number;
  }
}

class StoredTokens : public TokenStore {
 public:
  explicit StoredTokens(const TokenFiles& files) : width_(files.width), size_(files.tokens) {
    int64_t first = 0;
    for (const TokenFiles::File& file : files.files) {
      const int64_t bytes = file.tokens * width_;
      if (bytes > 0) parts_.push_back({file, first, files_.add(file.path, bytes)});
      first += file.tokens;
    }
  }

  int64_t size() const override { return size_; }
  void begin_step() const override { files_.begin_step(); }

  void read(int64_t first, std::span<int64_t> out) const override {
    for (const Part* part = &part_of(first); !out.empty(); ++part) {
      const int64_t inside = first - part->first;
      const auto count = static_cast<size_t>(std::min(part->file.tokens - inside, std::ssize(out)));
      bytes_.resize(count * static_cast<size_t>(width_));
      files_.read(part->number, inside * width_, bytes_);
      const std::span<int64_t> to = out.first(count);
      if (width_ == 1) widen<uint8_t>(bytes_.data(), to);
      if (width_ == 2) widen<uint16_t>(bytes_.data(), to);
      if (width_ == 4) widen<uint32_t>(bytes_.data(), to);
      first += static_cast<int64_t>(count);
      out = out.subspan(count);
    }
  }

  std::string place_of(int64_t token) const override {
    const Part& part = part_of(token);
    const int64_t inside = token - part.first;
    return fmt::format("token {} (byte {}) of '{}'", inside, inside * width_, part.file.path);
  }

 private:
  struct Part {
    TokenFiles::File file;
    int64_t first;  // token
    size_t number;  // of the file
  };

  const Part& part_of(int64_t token) const {
    return *std::prev(std::ranges::upper_bound(parts_, token, {}, &Part::first));
  }

  int width_;
  int64_t size_;
  std::vector<Part> parts_;  // that hold tokens
  DataFiles files_;
  mutable std::vector<std::byte> bytes_;  // that were read last
};

std::string folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path().string() : "."; }

std::string missing_hint(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code fault;
  for (fs::directory_iterator at(folder_of(path), fault), end; !fault && at != end; at.increment(fault)) {
    names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  if (fault) return "there is no folder " + folder_of(path) + " either";
  if (!near_names(path.filename().string(), names).empty()) return name_hint(path.filename().string(), names);
  return "a path that is not absolute is looked for where the run file is";
}

std::vector<fs::path> files_below(const fs::path& folder, std::error_code& fault) {
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    std::error_code unknown;  // of a link that leads nowhere, or round and round: it is no file
    if (hidden && at->is_directory(unknown)) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file(unknown)) files.push_back(at->path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

TokenFiles find_token_files(const std::string& path, int width, const std::string& where) {
  TokenFiles found;
  found.width = width;
  const auto fail = [&](std::string code, std::string message, std::string hint) {
    found.errors.push_back({std::move(code), std::move(message), where, std::move(hint)});
  };
  std::error_code fault;
  const bool folder = fs::is_directory(path, fault);
  std::vector<fs::path> paths{path};
  if (!fs::exists(path, fault)) {
    fail("missing_file", fmt::format("there is no file or folder '{}'", path), missing_hint(path));
    return found;
  }
  if (folder) paths = files_below(path, fault);
  if (fault) {
    fail("unreadable_file", fmt::format("cannot read '{}': {}", path, fault.message()), "check its permissions");
  } else if (paths.empty()) {
    fail("missing_file", fmt::format("the folder '{}' holds no file", path), "put the text there, or name a file");
  }
  for (const fs::path& file : paths) {
    if (!found.errors.empty()) break;
    if (!fs::is_regular_file(file, fault) && !fault) {
      fail("unreadable_file", fmt::format("'{}' is neither a regular file nor a folder", file.string()),
           "name a file, or a folder of files");
      break;
    }
    const auto bytes = static_cast<int64_t>(fs::file_size(file, fault));
    if (fault || ::access(file.c_str(), R_OK) != 0) {
      const std::string cause = fault ? fault.message() : std::strerror(errno);
      fail("unreadable_file", fmt::format("cannot read '{}': {}", file.string(), cause), "check its permissions");
    } else if (bytes % width != 0) {
      fail(
          "file_size",
          fmt::format("'{}' has {} bytes, which is no whole number of tokens of {} bytes", file.string(), bytes, width),
          "another dtype, or the file is cut short");
    }
    const fs::path name = folder ? file.lexically_relative(path) : file.filename();
    found.files.push_back({file.string(), name.string(), bytes / width});
    found.tokens += bytes / width;
  }
  return found;
}

std::unique_ptr<TokenStore> open_token_files(const TokenFiles& files) { return std::make_unique<StoredTokens>(files); }

std::vector<FileIdentity> identify(const TokenFiles& files) {
  if (!files.errors.empty()) throw Failure(files.errors);
  std::vector<FileIdentity> identities;
  for (const TokenFiles::File& file : files.files) identities.push_back(identify(InputFile(file.path), file.name));
  return identities;
}

}  // namespace shardscope
