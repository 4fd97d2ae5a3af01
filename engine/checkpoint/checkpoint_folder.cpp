#include "engine/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/checkpoint/checkpoint_reader.h"

namespace shardscope {

namespace fs = std::filesystem;

namespace {

// A file gets to the disk in such pieces: each is written in a time for which one may wait.
constexpr int64_t synced_bytes = int64_t{64} << 20;

constexpr std::string_view prefix = "step_", part_suffix = ".part", gone_suffix = ".gone";

std::optional<int64_t> step_of(const std::string& name) {
  int64_t step = 0;
  if (std::sscanf(name.c_str(), "step_%18" SCNd64, &step) != 1 || name != step_folder_name(step)) return std::nullopt;
  return step;
}

std::string hidden(const std::string& folder, int64_t step, std::string_view suffix) {
  return fmt::format("{}/.{}{}", folder, step_folder_name(step), suffix);
}

bool is_leftover(const std::string& name) {
  return name.starts_with(fmt::format(".{}", prefix)) && (name.ends_with(part_suffix) || name.ends_with(gone_suffix));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) names.push_back(entry.path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory) {
    throw Failure(Error{"unreadable_checkpoint", "cannot read: " + error.message(), in_file(folder), ""});
  }
  return names;
}

// The folder and those above it, synced into what holds them.
void make_folders(const FileCalls& calls, const fs::path& path) {
  if (fs::is_directory(path)) return;
  const fs::path parent = fs::absolute(path).parent_path();
  make_folders(calls, parent);
  calls.make_folder(path.string());
  calls.sync_folder(parent.string());
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

std::string step_folder_name(int64_t step) { return fmt::format("{}{:06}", prefix, step); }

bool is_checkpoint(const std::string& path) {
  return step_of(fs::path(without_slash(path)).filename().string()) || fs::exists(path + "/" + index_file_name);
}

std::string folder_of(const std::string& checkpoint) {
  return fs::absolute(without_slash(checkpoint)).lexically_normal().parent_path().string();
}

std::vector<FoundCheckpoint> list_checkpoints(const std::string& folder) {
  std::vector<FoundCheckpoint> found;
  for (const std::string& name : names_in(folder)) {
    if (const std::optional<int64_t> step = step_of(name)) found.push_back({*step, folder + "/" + name});
  }
  std::ranges::sort(found, {}, &FoundCheckpoint::step);
  return found;
}

std::optional<FoundCheckpoint> newest_good_checkpoint(const std::string& folder) {
  std::vector<FoundCheckpoint> found = list_checkpoints(folder);
  for (; !found.empty(); found.pop_back()) {
    try {
      CheckpointReader(found.back().path).verify();
      return found.back();
    } catch (const Failure&) {
      continue;
    }
  }
  return std::nullopt;
}

std::string hint_for_damaged(const std::string& checkpoint) {
  const std::optional<FoundCheckpoint> good = newest_good_checkpoint(folder_of(checkpoint));
  return good ? fmt::format("resume from {}, the newest whole one", good->path)
              : "there is no whole checkpoint beside it";
}

CheckpointFolder::CheckpointFolder(std::string path, const FileCalls& calls)
    : path_(without_slash(std::move(path))), calls_(calls) {
  make_folders(calls_, path_);
  if (::access(path_.c_str(), W_OK) != 0) {
    throw Failure(Error{"unwritable_checkpoint", fmt::format("cannot write: {}", std::strerror(errno)), in_file(path_),
                        "name a folder that can be written to"});
  }
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(lock_);
    throw Failure(Error{"checkpoint_in_use", "another run writes its checkpoints here", in_file(path_),
                        "another folder, or wait for its end"});
  }
  try {
    sweep();
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

CheckpointFolder::~CheckpointFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void CheckpointFolder::sweep() {
  for (const std::string& name : names_in(path_)) {
    if (is_leftover(name)) calls_.remove_folder(path_ + "/" + name);
  }
}

void CheckpointFolder::go_on_from(std::optional<int64_t> step, const std::vector<int64_t>& damaged) {
  std::vector<FoundCheckpoint> aside;
  for (const FoundCheckpoint& found : list_checkpoints(path_)) {
    if (step && found.step <= *step) continue;
    if (step && std::ranges::find(damaged, found.step) != damaged.end()) {
      aside.push_back(found);
    } else if (step) {
      throw Failure(Error{"checkpoint_exists",
                          fmt::format("it is newer than step {}, from which this run would go on", *step),
                          in_file(found.path), "resume from it, or write to another folder with --checkpoint"});
    } else {
      throw Failure(Error{"checkpoint_exists", "there are checkpoints of another run here", in_file(path_),
                          fmt::format("--resume {} goes on from them; else name another folder", path_)});
    }
  }
  for (const FoundCheckpoint& found : aside) {
    std::string name = found.path + ".damaged";
    for (int number = 2; fs::exists(name); ++number) name = fmt::format("{}.damaged_{}", found.path, number);
    calls_.rename(found.path, name);
  }
}

void CheckpointFolder::complete(const CheckpointIndex& index, int keep) {
  const std::string part = part_folder(path_, index.step), whole = path_ + "/" + step_folder_name(index.step);
  for (const CheckpointFile& file : index.files) {
    std::error_code error;
    const auto bytes = fs::file_size(part + "/" + file.name, error);
    if (!error && static_cast<int64_t>(bytes) == file.bytes) continue;
    throw Failure(Error{"unwritable_checkpoint", fmt::format("what rank {} has written is not here", file.rank),
                        in_file(part + "/" + file.name), "name a folder that all hosts share"});
  }
  const std::string text = write_checkpoint_index(index);
  NewFile file(calls_, part + "/" + index_file_name);
  file.write(0, std::as_bytes(std::span(text)));
  file.finish();
  calls_.sync_folder(part);
  calls_.rename(part, whole);
  calls_.sync_folder(path_);

  std::vector<FoundCheckpoint> found = list_checkpoints(path_);
  while (static_cast<int>(found.size()) > keep) {
    const std::string gone = hidden(path_, found.front().step, gone_suffix);
    calls_.rename(found.front().path, gone);
    calls_.remove_folder(gone);
    found.erase(found.begin());
  }
}

bool CheckpointFolder::holds(int64_t step) const { return fs::exists(path_ + "/" + step_folder_name(step)); }

void CheckpointFolder::abandon(int64_t step) {
  const std::string part = part_folder(path_, step);
  if (fs::exists(part)) calls_.remove_folder(part);
}

std::string part_folder(const std::string& folder, int64_t step) { return hidden(folder, step, part_suffix); }

std::vector<uint64_t> write_checkpoint_file(const FileCalls& calls, const std::string& part, const std::string& name,
                                            std::span<const std::byte> image, const std::stop_token& stop) {
  calls.make_folder(part);
  NewFile file(calls, part + "/" + name);
  std::vector<uint64_t> hashes;
  for (int64_t offset = 0; !image.empty(); offset += checkpoint_block_bytes) {
    if (stop.stop_requested()) return {};
    const auto block = image.first(std::min(image.size(), static_cast<size_t>(checkpoint_block_bytes)));
    hashes.push_back(hash_bytes(block));
    file.write(offset, block);
    if ((offset + checkpoint_block_bytes) % synced_bytes == 0) file.sync();
    image = image.subspan(block.size());
  }
  file.finish();
  return hashes;
}

}  // namespace shardscope
